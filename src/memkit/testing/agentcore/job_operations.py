"""The operations on extraction jobs: only failed ones can be seen, and run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memkit.testing.agentcore.errors import not_found

if TYPE_CHECKING:
    from memkit.testing.agentcore.calls import Call
    from memkit.testing.agentcore.values import Members


def list_memory_extraction_jobs(call: Call) -> Members:
    """List a page of the jobs that failed."""
    wanted = call.params.part("filter").members
    jobs = sorted(call.memory().jobs.values(), key=lambda job: job.job_id)
    fitting = [job for job in jobs if wanted.items() <= job.shown_as().items()]
    page = call.pager().cut(fitting, lambda job: (job.job_id,))
    return {"jobs": [job.shown_as() for job in page.elements], **page.members()}


def start_memory_extraction_job(call: Call) -> Members:
    """Run a failed job again."""
    job_id = call.params.part("extractionJob").text("jobId")
    job = call.memory().jobs.get(job_id)
    if job is None:
        raise not_found("Extraction job", job_id)
    call.queue.restart(job, call.now)
    return {"jobId": job_id}
