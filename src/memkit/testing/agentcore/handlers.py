"""Which function serves which operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memkit.testing.agentcore import (
    control_plane,
    event_operations,
    job_operations,
    record_reads,
    record_writes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memkit.testing.agentcore.calls import Call
    from memkit.testing.agentcore.values import Members

HANDLERS: Mapping[str, Callable[[Call], Members]] = {
    "CreateMemory": control_plane.create_memory,
    "GetMemory": control_plane.get_memory,
    "ListMemories": control_plane.list_memories,
    "UpdateMemory": control_plane.update_memory,
    "DeleteMemory": control_plane.delete_memory,
    "CreateEvent": event_operations.create_event,
    "GetEvent": event_operations.get_event,
    "DeleteEvent": event_operations.delete_event,
    "ListEvents": event_operations.list_events,
    "ListSessions": event_operations.list_sessions,
    "ListActors": event_operations.list_actors,
    "IngestData": event_operations.ingest_data,
    "BatchCreateMemoryRecords": record_writes.batch_create_memory_records,
    "BatchUpdateMemoryRecords": record_writes.batch_update_memory_records,
    "BatchDeleteMemoryRecords": record_writes.batch_delete_memory_records,
    "DeleteMemoryRecord": record_writes.delete_memory_record,
    "GetMemoryRecord": record_reads.get_memory_record,
    "ListMemoryRecords": record_reads.list_memory_records,
    "RetrieveMemoryRecords": record_reads.retrieve_memory_records,
    "ListMemoryExtractionJobs": job_operations.list_memory_extraction_jobs,
    "StartMemoryExtractionJob": job_operations.start_memory_extraction_job,
}
