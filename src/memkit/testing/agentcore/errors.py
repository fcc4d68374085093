"""Refusals of the service, each with the code, the status and the members of its model.

ServiceError
    made by invalid, not_found, conflict, quota_exceeded, throttled, failure
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memkit.testing.agentcore.values import Json, Members

Reason = Literal[
    "CannotParse",
    "FieldValidationFailed",
    "IdempotentParameterMismatchException",
    "EventInOtherSession",
    "ResourceConflict",
]

STATUS = {
    "ValidationException": 400,
    "InvalidInputException": 400,
    "ThrottlingException": 400,
    "ServiceQuotaExceededException": 402,
    "AccessDeniedException": 403,
    "ResourceNotFoundException": 404,
    "UnknownOperationException": 404,
    "ConflictException": 409,
    "RetryableConflictException": 409,
    "ThrottledException": 429,
    "ServiceException": 500,
}


class ServiceError(Exception):
    """An answer that is an error; `members` is its body."""

    def __init__(self, code: str, message: str, **extra: Json) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = STATUS[code]
        self.members: Members = {"message": message, **extra}


def invalid(
    message: str,
    *,
    reason: Reason = "FieldValidationFailed",
    fields: Iterable[tuple[str, str]] = (),
) -> ServiceError:
    """Make a ValidationException; fields are pairs of name and message."""
    listed: list[Json] = [{"name": name, "message": text} for name, text in fields]
    extra: Members = {"fieldList": listed} if listed else {}
    return ServiceError("ValidationException", message, reason=reason, **extra)


def invalid_field(name: str, message: str) -> ServiceError:
    """Make a ValidationException about one member."""
    return invalid(f"{name}: {message}", fields=[(name, message)])


def not_found(what: str, name: str) -> ServiceError:
    """Make a ResourceNotFoundException."""
    return ServiceError("ResourceNotFoundException", f"{what} not found: {name}")


def conflict(message: str) -> ServiceError:
    """Make a ConflictException; the control plane alone knows it."""
    return ServiceError("ConflictException", message)


def quota_exceeded(message: str) -> ServiceError:
    """Make a ServiceQuotaExceededException."""
    return ServiceError("ServiceQuotaExceededException", message)


def throttled(message: str) -> ServiceError:
    """Make a ThrottledException."""
    return ServiceError("ThrottledException", message)


def failure(message: str) -> ServiceError:
    """Make a ServiceException: the emulator itself went wrong."""
    return ServiceError("ServiceException", message)
