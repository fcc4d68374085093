"""The request members that are known here, so that a newer botocore's additions are noticed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from memkit.testing.agentcore.models import load_operations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memkit.testing.agentcore.shapes import Shape

KNOWN = """
BatchCreateMemoryRecordsInput: clientToken memoryId recordExpirySpecification records
BatchDeleteMemoryRecordsInput: memoryId records
BatchUpdateMemoryRecordsInput: memoryId recordExpirySpecification records
Branch: name rootEventId
BranchFilter: includeParentBranches name
Content: text
ContentConfiguration: level type
ContentSource: inline
Conversational: content role
CreateEventInput: actorId branch clientToken eventTimestamp extractionConfig extractionMode
    memoryId metadata payload sessionId
CreateMemoryInput: clientToken description encryptionKeyArn eventExpiryDuration indexedKeys
    memoryExecutionRoleArn memoryStrategies name namespaceKeys streamDeliveryResources tags
CustomConfigurationInput: episodicOverride selfManagedConfiguration semanticOverride
    summaryOverride userPreferenceOverride
CustomConsolidationConfigurationInput: episodicConsolidationOverride semanticConsolidationOverride
    summaryConsolidationOverride userPreferenceConsolidationOverride
CustomExtractionConfigurationInput: episodicExtractionOverride semanticExtractionOverride
    userPreferenceExtractionOverride
CustomMemoryStrategyInput: configuration description memoryRecordSchema name namespaceTemplates
    namespaces recordExpirySpecification
CustomReflectionConfigurationInput: episodicReflectionOverride
DeleteEventInput: actorId eventId memoryId sessionId
DeleteMemoryInput: clientToken memoryId
DeleteMemoryRecordInput: memoryId memoryRecordId namespace
DeleteMemoryStrategyInput: memoryStrategyId
EpisodicMemoryStrategyInput: description memoryRecordSchema name namespaceTemplates namespaces
    recordExpirySpecification reflectionConfiguration
EpisodicOverrideConfigurationInput: consolidation extraction reflection
EpisodicOverrideConsolidationConfigurationInput: appendToPrompt modelId
EpisodicOverrideExtractionConfigurationInput: appendToPrompt modelId
EpisodicOverrideReflectionConfigurationInput: appendToPrompt memoryRecordSchema modelId
    namespaceTemplates namespaces
EpisodicReflectionConfigurationInput: memoryRecordSchema namespaceTemplates namespaces
EventMetadataFilterExpression: left operator right
ExtractionConfig: llmExtractionConfig namespaceVariables
ExtractionJob: jobId
ExtractionJobFilterInput: actorId sessionId status strategyId
FilterInput: branch eventMetadata
GetEventInput: actorId eventId memoryId sessionId
GetMemoryInput: memoryId view
GetMemoryRecordInput: memoryId memoryRecordId namespace
IndexedKey: key type
IngestDataInput: actorId clientToken contentTimestamp extractionConfig memoryId metadata sessionId
    source
IngestPayloadType: conversational json
InlineMemoryContent: payload
InvocationConfigurationInput: payloadDeliveryBucketName topicArn
KinesisResource: contentConfigurations dataStreamArn
LeftExpression: metadataKey
ListActorsInput: maxResults memoryId nextToken
ListEventsInput: actorId filter includePayloads maxResults memoryId nextToken sessionId
ListMemoriesInput: maxResults nextToken
ListMemoryExtractionJobsInput: filter maxResults memoryId nextToken
ListMemoryRecordsInput: maxResults memoryId memoryStrategyId metadataFilters namespace
    namespacePath nextToken
ListSessionsInput: actorId filter maxResults memoryId nextToken
LlmExtractionConfig: definition llmExtractionInstruction validation
MemoryContent: text
MemoryJsonData: content
MemoryMetadataFilterExpression: left operator right
MemoryRecordCreateInput: content memoryStrategyId metadata namespaces requestIdentifier timestamp
MemoryRecordDeleteInput: memoryRecordId namespace
MemoryRecordLeftExpression: metadataKey
MemoryRecordMetadataValue: dateTimeValue numberValue stringListValue stringValue
MemoryRecordRightExpression: metadataValue
MemoryRecordSchema: metadataSchema
MemoryRecordUpdateInput: content memoryRecordId memoryStrategyId metadata namespaces
    sourceNamespaces timestamp
MemoryStrategyInput: customMemoryStrategy episodicMemoryStrategy semanticMemoryStrategy
    summaryMemoryStrategy userPreferenceMemoryStrategy
MessageBasedTriggerInput: messageCount
MetadataSchemaEntry: extractionConfig extractionType key type
MetadataValue: stringValue
ModifyConsolidationConfiguration: customConsolidationConfiguration
ModifyExtractionConfiguration: customExtractionConfiguration
ModifyInvocationConfigurationInput: payloadDeliveryBucketName topicArn
ModifyMemoryStrategies: addMemoryStrategies deleteMemoryStrategies modifyMemoryStrategies
ModifyMemoryStrategyInput: configuration description memoryRecordSchema memoryStrategyId
    namespaceTemplates namespaces recordExpirySpecification
ModifyReflectionConfiguration: customReflectionConfiguration episodicReflectionConfiguration
ModifySelfManagedConfiguration: historicalContextWindowSize invocationConfiguration
    triggerConditions
ModifyStrategyConfiguration: consolidation extraction reflection selfManagedConfiguration
NamespaceKeyEntry: key validation
NamespaceKeyValidation: allowedValues regexPattern
NumberValidation: maxValue minValue
PayloadType: blob conversational json
RecordExpirySpecification: action recordExpiryDurationDays
RetrieveMemoryRecordsInput: maxResults memoryId namespace namespacePath nextToken searchCriteria
RightExpression: metadataValue
SearchCriteria: memoryStrategyId metadataFilters searchQuery topK
SelfManagedConfigurationInput: historicalContextWindowSize invocationConfiguration
    triggerConditions
SemanticMemoryStrategyInput: description memoryRecordSchema name namespaceTemplates namespaces
    recordExpirySpecification
SemanticOverrideConfigurationInput: consolidation extraction
SemanticOverrideConsolidationConfigurationInput: appendToPrompt modelId
SemanticOverrideExtractionConfigurationInput: appendToPrompt modelId
SessionFilter: eventFilter
StartMemoryExtractionJobInput: clientToken extractionJob memoryId
StreamDeliveryResource: kinesis
StreamDeliveryResources: resources
StringListValidation: allowedValues maxItems
StringValidation: allowedValues
SummaryMemoryStrategyInput: description memoryRecordSchema name namespaceTemplates namespaces
    recordExpirySpecification
SummaryOverrideConfigurationInput: consolidation
SummaryOverrideConsolidationConfigurationInput: appendToPrompt modelId
TimeBasedTriggerInput: idleSessionTimeout
TokenBasedTriggerInput: tokenCount
TriggerConditionInput: messageBasedTrigger timeBasedTrigger tokenBasedTrigger
UpdateMemoryInput: addIndexedKeys clientToken description eventExpiryDuration
    memoryExecutionRoleArn memoryId memoryStrategies namespaceKeys streamDeliveryResources
UserPreferenceMemoryStrategyInput: description memoryRecordSchema name namespaceTemplates
    namespaces recordExpirySpecification
UserPreferenceOverrideConfigurationInput: consolidation extraction
UserPreferenceOverrideConsolidationConfigurationInput: appendToPrompt modelId
UserPreferenceOverrideExtractionConfigurationInput: appendToPrompt modelId
Validation: numberValidation stringListValidation stringValidation
"""


@cache
def new_members() -> tuple[str, ...]:
    """List what the models have and this emulator has never heard of."""
    known = _known()
    found = {name for operation in load_operations().values() for name in _names(operation.request)}
    return tuple(sorted(found - known))


def _known() -> frozenset[str]:
    lines = KNOWN.replace("\n    ", " ").strip().splitlines()
    shapes = (line.split(": ") for line in lines)
    return frozenset(f"{shape}.{member}" for shape, names in shapes for member in names.split())


def _names(root: Shape) -> Iterator[str]:
    waiting, seen = [root], {root.name}
    while waiting:
        shape = waiting.pop()
        yield from (f"{shape.name}.{member}" for member in shape.members)
        parts = [member.shape for member in shape.members.values()]
        for part in (*parts, shape.element, shape.key):
            if part is not None and part.name not in seen:
                seen.add(part.name)
                waiting.append(part)
