/** Explains what decides a request now: its match, with the records of control data and the live buckets. */

import type { Static } from '@sinclair/typebox';
import { keyOf, type RecordKey, type StoredRecord } from '../../../state/control/control-record';
import { toText } from '../../../domain/descriptor/byte-string';
import type { RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { explainRequest, withoutBlocks, type DescriptorExplanation, type Explanation } from '../../../configuration/explain/explanation';
import type { LimitExplanation, LimitSource } from '../../../configuration/explain/explain-limit';
import { BadRequestError } from '../../../lib/errors';
import type { FairLevels, RequestMatch } from '../../../domain/rule/match';
import type { AdminBackend } from '../backend';
import { AdminProblem } from '../problem';
import { showBucket } from './bucket-routes';
import type { decidingRecord, shownRecord } from './explanation-schemas';
import { currentRules, groupOf, levelsOf, readBuckets, type LiveBucket } from '../request/live-request';
import { snakeKeys, type SnakeKeys } from '../route/snake-keys';

/** A record that decides, or changes a limit. */
type ShownRecord = Static<typeof shownRecord>;

type DecidingRecord = Static<typeof decidingRecord>;

export interface LiveExplanation {
  readonly domain: string;
  readonly domain_found: boolean;
  readonly refused?: string;
  readonly descriptors: readonly ReturnType<typeof showDescriptor>[];
  /** The buckets of all limits, in their order. */
  readonly buckets: readonly ReturnType<typeof showBucket>[];
}

/** @throws AdminProblem if the request is invalid, or the store cannot answer */
export async function explainLive(request: RateLimitRequest, backend: AdminBackend): Promise<LiveExplanation> {
  const fair = await levelsOf(request, backend);
  const explanation = explainOrRefuse(request, backend, fair);
  const { takes, forms } = groupOf(request, backend, { control: withoutBlocks(backend.controlView), fair, admitsAll: true });
  const live = await readBuckets(takes, backend, forms);
  const byKey = new Map(live.map((each) => [each.take.bucketKey, each]));
  const { domain, domainFound, refused } = explanation;
  const show = { domain, byKey, backend };
  return {
    domain,
    domain_found: domainFound,
    ...(refused !== undefined && { refused }),
    descriptors: explanation.descriptors.map((each) => showDescriptor(each, show)),
    buckets: live.map(showBucket),
  };
}

function explainOrRefuse(request: RateLimitRequest, backend: AdminBackend, fair: FairLevels): Explanation {
  const {
    rules: { modes, keyPrefix },
    nowMs,
    controlView: control,
  } = backend;
  try {
    return explainRequest({ ...currentRules(backend), request, modes, keyPrefix, nowUs: () => nowMs() * 1_000, control, fair });
  } catch (error) {
    throw error instanceof BadRequestError ? new AdminProblem('invalid', error.message) : error;
  }
}

interface ShowInput {
  readonly domain: string;
  readonly byKey: ReadonlyMap<string, LiveBucket>;
  readonly backend: AdminBackend;
}

function showDescriptor({ limits, block, pass, ...rest }: DescriptorExplanation, input: ShowInput) {
  const { domain, backend } = input;
  return {
    ...snakeKeys(rest),
    limits: limits.map((limit) => showLimit(limit, input)),
    ...(block !== undefined && { block: showRecordOf({ kind: 'block', domain, name: block }, backend) }),
    ...(pass !== undefined && { pass: showRecordOf({ kind: 'pass', domain, name: pass }, backend) }),
  };
}

interface ShownLimit extends SnakeKeys<Omit<LimitExplanation, 'candidate' | 'source'>> {
  readonly source: ReturnType<typeof showSource>;
  /** Absent: the bucket is shared with another limit of the request. */
  readonly bucket?: ReturnType<typeof showBucket>;
  readonly candidate?: ShownLimit;
}

function showLimit({ candidate, source, ...rest }: LimitExplanation, input: ShowInput): ShownLimit {
  const live = input.byKey.get(rest.bucketKey);
  return {
    ...snakeKeys(rest),
    source: showSource(source, input),
    ...(live && { bucket: showBucket(live) }),
    ...(candidate && { candidate: showLimit(candidate, input) }),
  };
}

function showSource({ record, ...rest }: LimitSource, { domain, backend }: ShowInput) {
  const kind = rest.from === 'plan_values' ? 'plan' : 'override';
  return { ...snakeKeys(rest), ...(record !== undefined && { record: showRecordOf({ kind, domain, name: record }, backend) }) };
}

/** A record that ended meanwhile shows only its name. */
function showRecordOf(key: RecordKey, { controlView }: Pick<AdminBackend, 'controlView'>): ShownRecord {
  return showRecordDetails(key, controlView.get(key));
}

export function showRecordDetails(key: RecordKey, stored: StoredRecord | undefined): ShownRecord {
  const { record, version } = stored ?? {};
  const { untilMs, reason, author, createdAtMs } = record ?? {};
  return {
    kind: key.kind,
    id: key.name,
    ...(untilMs !== undefined && { until: new Date(untilMs).toISOString() }),
    ...(reason !== undefined && { reason }),
    ...(author !== undefined && { author }),
    ...(createdAtMs !== undefined && { created_at: new Date(createdAtMs).toISOString() }),
    ...(version !== undefined && { version }),
  };
}

/** Most tenants of one request whose records are read: their reasons are only in the store. */
const TENANTS_MAX = 50;

/** The records that decide the request, each with the index of its descriptor. */
export async function recordsOf(
  { matched, request }: { readonly request: RateLimitRequest; readonly matched: RequestMatch },
  backend: AdminBackend,
): Promise<readonly DecidingRecord[]> {
  const domain = toText(request.domain);
  const tenants = matched.matches.flatMap(({ rule, plan, pools }, descriptor) => {
    const name = rule?.tenant && request.descriptors[descriptor]?.entries[rule.tenant.level]?.value;
    const hasParent = (pools?.levels.length ?? 0) > 1;
    const hasRecord = plan !== undefined && (!plan.isDefault || plan.unknownPlan !== undefined || hasParent);
    return name === undefined || !hasRecord ? [] : [{ descriptor, key: { kind: 'tenant', domain, name: toText(name) } as const }];
  });
  const asked = tenants.slice(0, TENANTS_MAX);
  const stored = await backend.control.read(asked.map(({ key }) => key));
  const known = new Map(asked.map(({ descriptor }, i) => [descriptor, stored[i]]));
  return matched.matches.flatMap(({ plan, control = [] }, descriptor): DecidingRecord[] => {
    const tenant = known.get(descriptor);
    const keys: RecordKey[] = [
      ...(plan?.hasValues === true ? [{ kind: 'plan' as const, domain, name: toText(plan.plan.name) }] : []),
      ...control.map(({ kind, id }) => ({ kind, domain, name: id })),
    ];
    return [
      ...(tenant === undefined ? [] : [{ descriptor, ...showRecordDetails(keyOf(tenant.record), tenant) }]),
      ...keys.map((key) => ({ descriptor, ...showRecordOf(key, backend) })),
    ];
  });
}
