/** The operations of the admin API: method, path, and the types of input and reply. Generated from the routes; do not edit. */

export type Role = 'tenant' | 'viewer' | 'support' | 'admin';

export interface Session {
  readonly name: string;
  readonly role: Role;
  readonly needs_sign_in: boolean;
  readonly csrf?: string;
  readonly ends_in_s?: number;
}

export type Unit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year' | 'total';

export interface LimitValues {
  readonly name?: string;
  readonly requests_per_unit: number;
  readonly unit: Unit;
  readonly unit_multiplier?: number;
  readonly burst?: number;
}

export interface SelectorEntry {
  readonly key: string;
  readonly value?: string;
}

export type RecordKind = 'tenant' | 'plan' | 'override' | 'block' | 'pass' | 'rollout';

export type EffectState = 'in_force' | 'partial' | 'none';

export interface Warning {
  readonly code:
    | 'unknown_domain'
    | 'unknown_key'
    | 'no_rule'
    | 'nothing_to_replace'
    | 'needs_name'
    | 'unknown_limit'
    | 'unknown_place'
    | 'impossible_values'
    | 'shared_window'
    | 'hidden_by_block'
    | 'hidden_by_pass'
    | 'hidden_by_override'
    | 'has_limits_of_its_own'
    | 'no_tenants'
    | 'unknown_plan'
    | 'unknown_parent'
    | 'no_candidate'
    | 'no_key'
    | 'no_change'
    | 'shadow_mode'
    | 'no_such_record'
    | 'bucket_full';
  readonly effect: 'none' | 'partial';
  readonly message: string;
}

export interface Terms {
  readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
  readonly name?: string;
  readonly requests_per_unit?: number;
  readonly unit?: string;
  readonly unit_multiplier?: number;
}

export interface TermChange {
  readonly rule: string;
  readonly plan?: string;
  readonly from: Terms;
  readonly to: Terms;
}

export interface TenantKey {
  readonly domain: string;
  readonly tenant: string;
}

export interface WrittenTenant {
  readonly domain: string;
  readonly tenant: string;
  readonly plan?: string;
  readonly parent?: string;
  readonly until?: string;
  readonly reason?: string;
  readonly author?: string;
  readonly created_at?: string;
}

export interface Tenant extends WrittenTenant {
  readonly version: number;
}

export interface TenantWrite {
  readonly dry_run: boolean;
  readonly changed: boolean;
  readonly version?: number;
  readonly before?: Tenant;
  readonly after?: WrittenTenant;
  readonly changes: readonly TermChange[];
  readonly changes_omitted: number;
  readonly warnings: readonly Warning[];
}

export interface PlanKey {
  readonly domain: string;
  readonly plan: string;
}

export interface WrittenPlan {
  readonly domain: string;
  readonly plan: string;
  readonly limits: readonly LimitValues[];
  readonly until?: string;
  readonly reason?: string;
  readonly author?: string;
  readonly created_at?: string;
}

export interface Plan extends WrittenPlan {
  readonly version: number;
}

export interface PlanWrite {
  readonly dry_run: boolean;
  readonly changed: boolean;
  readonly version?: number;
  readonly before?: Plan;
  readonly after?: WrittenPlan;
  readonly changes: readonly TermChange[];
  readonly changes_omitted: number;
  readonly warnings: readonly Warning[];
}

export interface ItemKey {
  readonly domain: string;
  readonly id: string;
}

export interface WrittenOverride {
  readonly domain: string;
  readonly id: string;
  readonly entries: readonly SelectorEntry[];
  readonly limit: LimitValues;
  readonly candidate?: boolean;
  readonly rollout?: {
    readonly by: string;
    readonly percent: number;
    readonly stop_if?: { readonly denied_above: string; readonly for: string };
    readonly stopped?: boolean;
  };
  readonly until?: string;
  readonly reason?: string;
  readonly author?: string;
  readonly created_at?: string;
}

export interface Override extends WrittenOverride {
  readonly version: number;
}

export interface OverrideWrite {
  readonly dry_run: boolean;
  readonly changed: boolean;
  readonly version?: number;
  readonly before?: Override;
  readonly after?: WrittenOverride;
  readonly changes: readonly TermChange[];
  readonly changes_omitted: number;
  readonly warnings: readonly Warning[];
}

export interface WrittenBlockOrPass {
  readonly domain: string;
  readonly id: string;
  readonly entries: readonly SelectorEntry[];
  readonly until?: string;
  readonly reason?: string;
  readonly author?: string;
  readonly created_at?: string;
}

export interface BlockOrPass extends WrittenBlockOrPass {
  readonly version: number;
}

export interface BlockOrPassBody {
  readonly entries: readonly SelectorEntry[];
  readonly until?: string;
  readonly reason?: string;
}

export interface BlockOrPassWrite {
  readonly dry_run: boolean;
  readonly changed: boolean;
  readonly version?: number;
  readonly before?: BlockOrPass;
  readonly after?: WrittenBlockOrPass;
  readonly changes: readonly TermChange[];
  readonly changes_omitted: number;
  readonly warnings: readonly Warning[];
}

export interface BlocksOrPasses {
  readonly items: readonly BlockOrPass[];
  readonly next?: string;
}

export interface DomainPage {
  readonly limit?: number;
  readonly cursor?: string;
  readonly domain?: string;
}

export interface WriteOptions {
  readonly dry_run?: boolean;
  readonly strict?: boolean;
}

export interface AheadOptions {
  readonly dry_run?: boolean;
  readonly strict?: boolean;
  readonly ahead?: boolean;
}

export interface DeleteOptions {
  readonly dry_run?: boolean;
  readonly strict?: boolean;
  readonly reason?: string;
}

export interface AskedLimit {
  readonly name: string;
  readonly requests_per_unit: number;
  readonly unit: string;
  readonly unit_multiplier: number;
  readonly show?: { readonly unit: string; readonly divide: number };
}

export interface ConfiguredValues extends AskedLimit {
  readonly capacity: number;
}

export interface RuleLimit extends ConfiguredValues {
  readonly algorithm: string;
}

export interface PlanInForce {
  readonly domain: string;
  readonly plan: string;
  readonly configured: boolean;
  readonly file?: string;
  readonly line?: number;
  readonly unlimited: boolean;
  readonly limits: readonly RuleLimit[];
  readonly values?: Plan;
  readonly effect?: EffectState;
  readonly warnings: readonly Warning[];
}

export interface RolloutPart {
  readonly hits: number;
  readonly over_limit: number;
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

export interface RolloutStatus {
  readonly domain: string;
  readonly rule: string;
  readonly by: string;
  readonly percent: number;
  readonly stop_if?: { readonly denied_above: string; readonly for: string };
  readonly stopped: boolean;
  readonly source: 'configuration' | 'rollout' | 'override';
  readonly version: number;
  readonly reason?: string;
  readonly author?: string;
  readonly changed_at?: string;
  readonly limits: readonly { readonly current?: AskedLimit; readonly candidate: AskedLimit }[];
  readonly since?: string;
  readonly candidate: RolloutPart;
  readonly current: RolloutPart;
}

export interface WrittenRollout {
  readonly domain: string;
  readonly rule: string;
  readonly by?: string;
  readonly percent: number;
  readonly stop_if?: { readonly denied_above: string; readonly for: string };
  readonly stopped?: boolean;
  readonly reason?: string;
  readonly author?: string;
  readonly created_at?: string;
}

export interface RolloutWrite {
  readonly dry_run: boolean;
  readonly changed: boolean;
  readonly version?: number;
  readonly before?: {
    readonly domain: string;
    readonly rule: string;
    readonly by?: string;
    readonly percent: number;
    readonly stop_if?: { readonly denied_above: string; readonly for: string };
    readonly stopped?: boolean;
    readonly reason?: string;
    readonly author?: string;
    readonly created_at?: string;
    readonly version: number;
  };
  readonly after?: WrittenRollout;
  readonly changes: readonly TermChange[];
  readonly changes_omitted: number;
  readonly warnings: readonly Warning[];
}

export type ExceptionKind = 'override' | 'candidate' | 'block' | 'penalty' | 'pass' | 'plan' | 'tenant' | 'rollout';

export interface Exception {
  readonly kind: ExceptionKind;
  readonly domain: string;
  readonly name: string;
  readonly plan?: string;
  readonly parent?: string;
  readonly limits?: readonly LimitValues[];
  readonly entries?: readonly SelectorEntry[];
  readonly limit?: LimitValues;
  readonly rollout?: {
    readonly by: string;
    readonly percent: number;
    readonly stop_if?: { readonly denied_above: string; readonly for: string };
    readonly stopped?: boolean;
  };
  readonly by?: string;
  readonly percent?: number;
  readonly stop_if?: { readonly denied_above: string; readonly for: string };
  readonly stopped?: boolean;
  readonly until?: string;
  readonly reason?: string;
  readonly author?: string;
  readonly created_at?: string;
  readonly version: number;
  readonly effect: EffectState;
  readonly rules: readonly string[];
  readonly warnings: readonly Warning[];
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly author: string;
  readonly action: string;
  readonly reason?: string;
  readonly details?: unknown;
  readonly kind?: RecordKind;
  readonly domain?: string;
  readonly name?: string;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

export interface Entry {
  readonly key: string;
  readonly value: string;
}

export interface Request {
  readonly domain: string;
  readonly descriptors: readonly { readonly entries: readonly Entry[] }[];
}

export interface MatchCandidate {
  readonly file: string;
  readonly line: number;
  readonly key: string;
  readonly value?: string;
  readonly reason: string;
}

export interface MatchLevel {
  readonly entry: Entry;
  readonly winner?: MatchCandidate;
  readonly losers: readonly MatchCandidate[];
  readonly omitted: number;
  readonly other_keys: number;
}

export interface ShownRecord {
  readonly kind: RecordKind;
  readonly id: string;
  readonly until?: string;
  readonly reason?: string;
  readonly author?: string;
  readonly created_at?: string;
  readonly version?: number;
}

export interface DecidingRecord extends ShownRecord {
  readonly descriptor: number;
}

export interface IdleRecord extends ShownRecord {
  readonly effect: EffectState;
  readonly warnings: readonly Warning[];
}

export interface BucketLimit {
  readonly requests_per_unit: number;
  readonly window_ms: number;
  readonly capacity: number;
  readonly reserved?: number;
  readonly algorithm: string;
}

export interface Bucket {
  readonly key: string;
  readonly descriptor: number;
  readonly limit: BucketLimit;
  readonly remaining: number;
  readonly debt: number;
  readonly retry_after_ms?: number;
  readonly reset_after_ms: number;
  readonly reset_at: string;
  readonly show?: { readonly unit: string; readonly divide: number };
}

export interface LimitSource {
  readonly from: 'rule' | 'plan' | 'plan_values' | 'override' | 'request';
  readonly record?: ShownRecord;
  readonly file?: string;
  readonly line?: number;
  readonly replaces?: ConfiguredValues;
}

export interface CandidateLimit extends RuleLimit {
  readonly reserved?: number;
  readonly calendar?: string;
  readonly overdraft_max?: number;
  readonly id?: string;
  readonly reservations?: { readonly max_share: number; readonly on_lapse: string; readonly hits_max: number };
  readonly response_body?: string;
  readonly leases?: string;
  readonly is_share?: boolean;
  readonly pool?: string;
  readonly bucket_key: string;
  readonly source: LimitSource;
  readonly bucket?: Bucket;
}

export interface ExplainedLimit extends CandidateLimit {
  readonly candidate?: CandidateLimit;
}

export interface PlanSource {
  readonly is_default: boolean;
  readonly unknown_plan?: string;
  readonly members_of?: string;
  readonly file?: string;
  readonly line?: number;
}

export interface ExplainedDescriptor {
  readonly entries: readonly Entry[];
  readonly rule?: string;
  readonly mode: string;
  readonly unlimited: boolean;
  readonly override: boolean;
  readonly limits: readonly ExplainedLimit[];
  readonly plan?: string;
  readonly plan_source?: PlanSource;
  readonly above?: readonly { readonly tenant: string; readonly plan: string; readonly is_default: boolean }[];
  readonly stage?: { readonly rollout: string; readonly by: string; readonly percent: number; readonly part: 'candidate' | 'current' };
  readonly reserve?: { readonly entry: string; readonly class?: string; readonly kept_percent: number };
  readonly fair?: { readonly entry: string; readonly member?: string; readonly weight: number };
  readonly block?: ShownRecord;
  readonly pass?: ShownRecord;
  readonly replaced: readonly string[];
  readonly not_limited?: string;
  readonly levels: readonly MatchLevel[];
}

export interface Operations {
  readonly restoreControl: {
    readonly query: { readonly dry_run?: boolean };
    readonly body: { readonly reason?: string };
    readonly reply: { readonly dry_run: boolean; readonly restored: number };
  };
  readonly discardLostControl: { readonly body: { readonly reason?: string }; readonly reply: { readonly discarded: boolean } };
  readonly listTenants: { readonly query: DomainPage; readonly reply: { readonly items: readonly Tenant[]; readonly next?: string } };
  readonly getTenant: { readonly params: TenantKey; readonly reply: Tenant };
  readonly putTenant: {
    readonly params: TenantKey;
    readonly query: AheadOptions;
    readonly body: { readonly plan?: string; readonly parent?: string; readonly until?: string; readonly reason?: string };
    readonly reply: TenantWrite;
  };
  readonly deleteTenant: { readonly params: TenantKey; readonly query: DeleteOptions; readonly reply: TenantWrite };
  readonly importTenants: {
    readonly params: { readonly domain: string };
    readonly query: AheadOptions;
    readonly body: {
      readonly items: readonly { readonly tenant: string; readonly plan?: string; readonly parent?: string; readonly until?: string }[];
      readonly source?: string;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly written: number;
      readonly same: number;
      readonly version?: number;
      readonly refused: readonly { readonly index: number; readonly problem: string }[];
      readonly without_effect: readonly { readonly index: number; readonly warnings: readonly Warning[] }[];
    };
  };
  readonly getTenantTree: {
    readonly params: TenantKey;
    readonly query: { readonly limit?: number; readonly cursor?: string; readonly entry?: string };
    readonly reply: {
      readonly domain: string;
      readonly levels: readonly {
        readonly tenant: string;
        readonly has_record: boolean;
        readonly plan?: string;
        readonly is_default?: boolean;
        readonly members_of?: string;
        readonly unlimited: boolean;
        readonly blocked: boolean;
        readonly children: number;
        readonly limits: readonly {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
          readonly show?: { readonly unit: string; readonly divide: number };
          readonly entries: readonly Entry[];
          readonly pool: boolean;
          readonly capacity: number;
          readonly remaining: number;
          readonly debt: number;
          readonly reset_at: string;
        }[];
      }[];
      readonly children: readonly {
        readonly tenant: string;
        readonly has_record: boolean;
        readonly plan?: string;
        readonly is_default?: boolean;
        readonly members_of?: string;
        readonly unlimited: boolean;
        readonly blocked: boolean;
        readonly children: number;
        readonly limits: readonly {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
          readonly show?: { readonly unit: string; readonly divide: number };
          readonly entries: readonly Entry[];
          readonly pool: boolean;
          readonly capacity: number;
          readonly remaining: number;
          readonly debt: number;
          readonly reset_at: string;
        }[];
      }[];
      readonly next?: string;
    };
  };
  readonly listPlans: { readonly query: DomainPage; readonly reply: { readonly items: readonly Plan[]; readonly next?: string } };
  readonly getPlan: { readonly params: PlanKey; readonly reply: Plan };
  readonly putPlan: {
    readonly params: PlanKey;
    readonly query: AheadOptions;
    readonly body: { readonly limits: readonly LimitValues[]; readonly until?: string; readonly reason?: string };
    readonly reply: PlanWrite;
  };
  readonly deletePlan: { readonly params: PlanKey; readonly query: DeleteOptions; readonly reply: PlanWrite };
  readonly listOverrides: { readonly query: DomainPage; readonly reply: { readonly items: readonly Override[]; readonly next?: string } };
  readonly getOverride: { readonly params: ItemKey; readonly reply: Override };
  readonly putOverride: {
    readonly params: ItemKey;
    readonly query: WriteOptions;
    readonly body: {
      readonly entries: readonly SelectorEntry[];
      readonly limit: LimitValues;
      readonly candidate?: boolean;
      readonly rollout?: {
        readonly by: string;
        readonly percent: number;
        readonly stop_if?: { readonly denied_above: string; readonly for: string };
        readonly stopped?: boolean;
      };
      readonly until?: string;
      readonly reason?: string;
    };
    readonly reply: OverrideWrite;
  };
  readonly deleteOverride: { readonly params: ItemKey; readonly query: DeleteOptions; readonly reply: OverrideWrite };
  readonly promoteOverride: {
    readonly params: ItemKey;
    readonly query: WriteOptions;
    readonly body: { readonly reason?: string };
    readonly reply: OverrideWrite;
  };
  readonly listBlocks: { readonly query: DomainPage; readonly reply: BlocksOrPasses };
  readonly getBlock: { readonly params: ItemKey; readonly reply: BlockOrPass };
  readonly putBlock: {
    readonly params: ItemKey;
    readonly query: WriteOptions;
    readonly body: BlockOrPassBody;
    readonly reply: BlockOrPassWrite;
  };
  readonly deleteBlock: { readonly params: ItemKey; readonly query: DeleteOptions; readonly reply: BlockOrPassWrite };
  readonly listPasses: { readonly query: DomainPage; readonly reply: BlocksOrPasses };
  readonly getPass: { readonly params: ItemKey; readonly reply: BlockOrPass };
  readonly putPass: {
    readonly params: ItemKey;
    readonly query: WriteOptions;
    readonly body: BlockOrPassBody;
    readonly reply: BlockOrPassWrite;
  };
  readonly deletePass: { readonly params: ItemKey; readonly query: DeleteOptions; readonly reply: BlockOrPassWrite };
  readonly listRollouts: {
    readonly query: DomainPage;
    readonly reply: {
      readonly items: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly by?: string;
        readonly percent: number;
        readonly stop_if?: { readonly denied_above: string; readonly for: string };
        readonly stopped?: boolean;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      }[];
      readonly next?: string;
    };
  };
  readonly getRollout: {
    readonly params: { readonly domain: string; readonly rule: string };
    readonly reply: {
      readonly domain: string;
      readonly rule: string;
      readonly by?: string;
      readonly percent: number;
      readonly stop_if?: { readonly denied_above: string; readonly for: string };
      readonly stopped?: boolean;
      readonly reason?: string;
      readonly author?: string;
      readonly created_at?: string;
      readonly version: number;
    };
  };
  readonly putRollout: {
    readonly params: { readonly domain: string; readonly rule: string };
    readonly query: WriteOptions;
    readonly body: {
      readonly by?: string;
      readonly percent: number;
      readonly stop_if?: { readonly denied_above: string; readonly for: string };
      readonly stopped?: boolean;
      readonly reason?: string;
    };
    readonly reply: RolloutWrite;
  };
  readonly deleteRollout: {
    readonly params: { readonly domain: string; readonly rule: string };
    readonly query: DeleteOptions;
    readonly reply: RolloutWrite;
  };
  readonly listPlansInForce: {
    readonly query: { readonly limit?: number; readonly cursor?: string; readonly domain?: string; readonly plan?: string };
    readonly reply: { readonly items: readonly PlanInForce[]; readonly next?: string };
  };
  readonly listExceptions: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly order?: 'ends' | 'newest';
      readonly text?: string;
      readonly kind?: ExceptionKind;
      readonly domain?: string;
      readonly author?: string;
      readonly state?: EffectState;
    };
    readonly reply: { readonly items: readonly Exception[]; readonly next?: string };
  };
  readonly listRolloutStatus: {
    readonly query: { readonly domain?: string; readonly rule?: string };
    readonly reply: { readonly items: readonly RolloutStatus[] };
  };
  readonly listEvents: {
    readonly reply: {
      readonly enabled: boolean;
      readonly waiting: number;
      readonly oldest_at?: string;
      readonly delivered: number;
      readonly undelivered: number;
      readonly items: readonly {
        readonly id: string;
        readonly type: string;
        readonly subject: string;
        readonly time: string;
        readonly state: 'waiting' | 'delivered' | 'undelivered';
        readonly at: string;
        readonly tries: number;
        readonly data: Readonly<Record<string, unknown>>;
      }[];
    };
  };
  readonly explainRequest: {
    readonly body: Request;
    readonly reply: {
      readonly generation: number;
      readonly over_limit: boolean;
      readonly control: readonly DecidingRecord[];
      readonly without_effect: readonly IdleRecord[];
      readonly explanation: {
        readonly domain: string;
        readonly domain_found: boolean;
        readonly refused?: string;
        readonly descriptors: readonly ExplainedDescriptor[];
      };
      readonly buckets: readonly Bucket[];
    };
  };
  readonly getTenantLimits: {
    readonly params: TenantKey;
    readonly query: { readonly entry?: string };
    readonly reply: {
      readonly domain: string;
      readonly tenant: string;
      readonly generation: number;
      readonly record?: {
        readonly kind: RecordKind;
        readonly id: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version?: number;
        readonly plan?: string;
        readonly parent?: string;
      };
      readonly descriptors: readonly {
        readonly entries: readonly Entry[];
        readonly rule?: string;
        readonly mode: string;
        readonly unlimited: boolean;
        readonly override: boolean;
        readonly limits: readonly ExplainedLimit[];
        readonly plan?: string;
        readonly plan_source?: PlanSource;
        readonly above?: readonly { readonly tenant: string; readonly plan: string; readonly is_default: boolean }[];
        readonly stage?: {
          readonly rollout: string;
          readonly by: string;
          readonly percent: number;
          readonly part: 'candidate' | 'current';
        };
        readonly reserve?: { readonly entry: string; readonly class?: string; readonly kept_percent: number };
        readonly fair?: { readonly entry: string; readonly member?: string; readonly weight: number };
        readonly block?: ShownRecord;
        readonly pass?: ShownRecord;
        readonly replaced: readonly string[];
        readonly not_limited?: string;
        readonly needs?: readonly string[];
        readonly file: string;
        readonly line: number;
      }[];
      readonly without_effect: readonly IdleRecord[];
      readonly omitted: number;
    };
  };
  readonly simulateRequest: {
    readonly body: {
      readonly domain: string;
      readonly descriptors: readonly { readonly entries: readonly Entry[] }[];
      readonly per_second: number;
      readonly for_seconds: number;
      readonly burst?: number;
    };
    readonly reply: {
      readonly requests: number;
      readonly admitted: number;
      readonly denied: number;
      readonly capacity?: number;
      readonly columns: readonly {
        readonly from_seconds: number;
        readonly admitted: number;
        readonly denied: number;
        readonly left?: number;
      }[];
    };
  };
  readonly getUsage: {
    readonly query: { readonly domain?: string; readonly tenant?: string };
    readonly reply: {
      readonly domain: string;
      readonly tenant: string;
      readonly at: string;
      readonly descriptors: readonly {
        readonly entries: readonly Entry[];
        readonly plan?: string;
        readonly unlimited: boolean;
        readonly blocked: boolean;
        readonly blocked_until?: string;
        readonly limits: readonly {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
          readonly capacity: number;
          readonly used: number;
          readonly remaining: number;
          readonly reserved?: number;
          readonly debt: number;
          readonly reset_at: string;
          readonly show?: { readonly unit: string; readonly divide: number };
          readonly pool?: true;
        }[];
        readonly denied?: number;
      }[];
    };
  };
  readonly lookupBuckets: { readonly body: Request; readonly reply: { readonly buckets: readonly Bucket[] } };
  readonly listBuckets: {
    readonly query: { readonly limit?: number; readonly cursor?: string; readonly domain: string; readonly prefix?: string };
    readonly reply: { readonly items: readonly { readonly key: string }[]; readonly next?: string };
  };
  readonly resetBuckets: {
    readonly query: { readonly dry_run?: boolean };
    readonly body: { readonly domain: string; readonly entries: readonly Entry[]; readonly limit?: string; readonly reason?: string };
    readonly reply: { readonly dry_run: boolean; readonly deleted: number; readonly before: readonly Bucket[] };
  };
  readonly giveCredit: {
    readonly query: WriteOptions;
    readonly body: {
      readonly domain: string;
      readonly entries: readonly Entry[];
      readonly limit?: string;
      readonly reason?: string;
      readonly hits: number;
      readonly id?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly repeated: boolean;
      readonly given: readonly {
        readonly key: string;
        readonly hits: number;
        readonly remaining: number;
        readonly show?: { readonly unit: string; readonly divide: number };
      }[];
      readonly warnings: readonly Warning[];
    };
  };
  readonly whoami: { readonly reply: { readonly name: string; readonly role: Role } };
  readonly listTopKeys: {
    readonly query: {
      readonly question: 'asked' | 'denied' | 'near' | 'candidate_denied';
      readonly minutes?: 1 | 10 | 60;
      readonly count?: number;
      readonly domain?: string;
      readonly rule?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly entries: string;
        readonly count: number;
        readonly error: number;
        readonly used_share?: number;
        readonly remaining_share?: number;
        readonly limit?: AskedLimit;
      }[];
      readonly unlisted_max: number;
      readonly total_hits: number;
      readonly covered_ms: number;
      readonly instances: number;
      readonly missing: number;
    };
  };
  readonly listInstances: {
    readonly reply: {
      readonly items: readonly {
        readonly id: string;
        readonly host: string;
        readonly pid: number;
        readonly version: string;
        readonly started_at: string;
        readonly reported_at: string;
        readonly generation: number;
        readonly domains: number;
        readonly config_refused: boolean;
        readonly degraded: readonly string[];
        readonly load?: { readonly event_loop_utilization: number; readonly decisions_per_s: number };
        readonly engines?: readonly { readonly store: string; readonly engine: string; readonly version: string }[];
        readonly store_error?: { readonly store: string; readonly reason: string; readonly at: string };
        readonly control?: {
          readonly state: 'starting' | 'following' | 'behind' | 'lost';
          readonly lag_seconds: number;
          readonly version: number;
          readonly lost_records: number;
          readonly entries_behind?: number;
        };
      }[];
      readonly degraded: readonly { readonly reason: string; readonly instances: number }[];
    };
  };
  readonly listRules: {
    readonly query: DomainPage;
    readonly reply: {
      readonly generation: number;
      readonly warnings: readonly string[];
      readonly refused: readonly string[];
      readonly items: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly depth: number;
        readonly unlimited: boolean;
        readonly shadow_mode: boolean;
        readonly quota_mode: boolean;
        readonly tenants: boolean;
        readonly file?: string;
        readonly line?: number;
        readonly limits: readonly RuleLimit[];
      }[];
      readonly next?: string;
    };
  };
  readonly listSettings: {
    readonly reply: {
      readonly settings: readonly {
        readonly name: string;
        readonly group:
          | 'Listening'
          | 'Configuration'
          | 'Decisions'
          | 'Answers'
          | 'Store'
          | 'Logs and metrics'
          | 'Traces'
          | 'Events'
          | 'Admin API'
          | 'Life cycle';
        readonly value: string | null;
        readonly source: 'environment' | 'default';
      }[];
    };
  };
  readonly getLive: {
    readonly query: { readonly rules?: number; readonly minutes?: 10 | 60 };
    readonly reply: {
      readonly at: string;
      readonly window_s: number;
      readonly decisions_per_s: number;
      readonly errors_per_s: number;
      readonly fallback_per_s: number;
      readonly cached_denials_per_s: number;
      readonly unmatched_per_s: number;
      readonly asked_per_s: number;
      readonly denied_per_s: number;
      readonly decision_p50_ms?: number;
      readonly decision_p99_ms?: number;
      readonly stores: readonly {
        readonly store: string;
        readonly p50_ms?: number;
        readonly p99_ms?: number;
        readonly errors_per_s: number;
      }[];
      readonly history: readonly {
        readonly at: string;
        readonly asked_per_s: number;
        readonly denied_per_s: number;
        readonly decision_p50_ms?: number;
        readonly decision_p99_ms?: number;
        readonly store_p99_ms?: number;
      }[];
      readonly rules: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly asked_per_s: number;
        readonly denied_per_s: number;
        readonly asked: number;
        readonly denied: number;
        readonly near: number;
        readonly would_deny: number;
      }[];
      readonly rules_omitted: number;
    };
  };
  readonly listKeyHistory: {
    readonly query: {
      readonly question?: 'denied' | 'asked';
      readonly count?: number;
      readonly domain?: string;
      readonly rule?: string;
      readonly entries?: string;
    };
    readonly reply: {
      readonly at: readonly string[];
      readonly items: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly entries: string;
        readonly hits: readonly number[];
      }[];
      readonly others: readonly number[];
    };
  };
  readonly listRuleHistory: {
    readonly query: { readonly count?: number };
    readonly reply: {
      readonly at: readonly string[];
      readonly items: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly denied: readonly number[];
        readonly asked: readonly number[];
      }[];
    };
  };
  readonly listInstanceHistory: {
    readonly reply: {
      readonly at: readonly string[];
      readonly items: readonly {
        readonly id: string;
        readonly decisions_per_s: readonly number[];
        readonly event_loop_utilization: readonly number[];
      }[];
    };
  };
  readonly showDayOfKey: {
    readonly query: { readonly domain: string; readonly entries: string };
    readonly reply: {
      readonly source: 'none' | 'prometheus';
      readonly items: readonly { readonly at: string; readonly asked: number; readonly denied: number }[];
    };
  };
  readonly listAudit: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly order?: 'newest' | 'oldest';
      readonly trail?: 'penalties';
      readonly author?: string;
      readonly kind?: RecordKind;
      readonly domain?: string;
      readonly tenant?: string;
      readonly descriptor?: string;
      readonly since?: string;
    };
    readonly reply: { readonly items: readonly AuditEntry[]; readonly next?: string };
  };
  readonly exportAudit: { readonly query: { readonly after?: string }; readonly reply: AuditEntry };
  readonly tailDecisions: {
    readonly query: { readonly domain?: string; readonly entry?: string; readonly denied?: boolean; readonly per_second?: number };
    readonly reply: {
      readonly at: string;
      readonly pid: number;
      readonly domain: string;
      readonly over_limit: boolean;
      readonly blocked?: boolean;
      readonly without?: 'fallback' | 'cached';
      readonly skipped: number;
      readonly descriptors: readonly {
        readonly entries: readonly Entry[];
        readonly hits: number;
        readonly rule?: string;
        readonly block?: string;
        readonly over_limit: boolean;
        readonly limit?: AskedLimit;
        readonly remaining?: number;
        readonly candidates?: readonly {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
          readonly show?: { readonly unit: string; readonly divide: number };
          readonly over_limit: boolean;
        }[];
      }[];
    };
  };
  readonly openSession: { readonly reply: Session };
  readonly getSession: { readonly reply: Session };
  readonly endSession: { readonly reply: { readonly ended: boolean } };
}

export const OPERATIONS = {
  restoreControl: { method: 'POST', path: '/v1/control/restore' },
  discardLostControl: { method: 'POST', path: '/v1/control/discard-lost' },
  listTenants: { method: 'GET', path: '/v1/tenants' },
  getTenant: { method: 'GET', path: '/v1/tenants/{domain}/{tenant}' },
  putTenant: { method: 'PUT', path: '/v1/tenants/{domain}/{tenant}' },
  deleteTenant: { method: 'DELETE', path: '/v1/tenants/{domain}/{tenant}' },
  importTenants: { method: 'POST', path: '/v1/tenants/{domain}' },
  getTenantTree: { method: 'GET', path: '/v1/tenants/{domain}/{tenant}/tree' },
  listPlans: { method: 'GET', path: '/v1/plans' },
  getPlan: { method: 'GET', path: '/v1/plans/{domain}/{plan}' },
  putPlan: { method: 'PUT', path: '/v1/plans/{domain}/{plan}' },
  deletePlan: { method: 'DELETE', path: '/v1/plans/{domain}/{plan}' },
  listOverrides: { method: 'GET', path: '/v1/overrides' },
  getOverride: { method: 'GET', path: '/v1/overrides/{domain}/{id}' },
  putOverride: { method: 'PUT', path: '/v1/overrides/{domain}/{id}' },
  deleteOverride: { method: 'DELETE', path: '/v1/overrides/{domain}/{id}' },
  promoteOverride: { method: 'POST', path: '/v1/overrides/{domain}/{id}/promote' },
  listBlocks: { method: 'GET', path: '/v1/blocks' },
  getBlock: { method: 'GET', path: '/v1/blocks/{domain}/{id}' },
  putBlock: { method: 'PUT', path: '/v1/blocks/{domain}/{id}' },
  deleteBlock: { method: 'DELETE', path: '/v1/blocks/{domain}/{id}' },
  listPasses: { method: 'GET', path: '/v1/passes' },
  getPass: { method: 'GET', path: '/v1/passes/{domain}/{id}' },
  putPass: { method: 'PUT', path: '/v1/passes/{domain}/{id}' },
  deletePass: { method: 'DELETE', path: '/v1/passes/{domain}/{id}' },
  listRollouts: { method: 'GET', path: '/v1/rollouts' },
  getRollout: { method: 'GET', path: '/v1/rollouts/{domain}/{rule}' },
  putRollout: { method: 'PUT', path: '/v1/rollouts/{domain}/{rule}' },
  deleteRollout: { method: 'DELETE', path: '/v1/rollouts/{domain}/{rule}' },
  listPlansInForce: { method: 'GET', path: '/v1/plans-in-force' },
  listExceptions: { method: 'GET', path: '/v1/exceptions' },
  listRolloutStatus: { method: 'GET', path: '/v1/rollout-status' },
  listEvents: { method: 'GET', path: '/v1/events' },
  explainRequest: { method: 'POST', path: '/v1/explain' },
  getTenantLimits: { method: 'GET', path: '/v1/tenants/{domain}/{tenant}/limits' },
  simulateRequest: { method: 'POST', path: '/v1/simulate' },
  getUsage: { method: 'GET', path: '/v1/usage' },
  lookupBuckets: { method: 'POST', path: '/v1/buckets/lookup' },
  listBuckets: { method: 'GET', path: '/v1/buckets' },
  resetBuckets: { method: 'POST', path: '/v1/buckets/reset' },
  giveCredit: { method: 'POST', path: '/v1/credits' },
  whoami: { method: 'GET', path: '/v1/whoami' },
  listTopKeys: { method: 'GET', path: '/v1/top' },
  listInstances: { method: 'GET', path: '/v1/instances' },
  listRules: { method: 'GET', path: '/v1/rules' },
  listSettings: { method: 'GET', path: '/v1/settings' },
  getLive: { method: 'GET', path: '/v1/live' },
  listKeyHistory: { method: 'GET', path: '/v1/history/keys' },
  listRuleHistory: { method: 'GET', path: '/v1/history/rules' },
  listInstanceHistory: { method: 'GET', path: '/v1/history/instances' },
  showDayOfKey: { method: 'GET', path: '/v1/history/day' },
  listAudit: { method: 'GET', path: '/v1/audit' },
  exportAudit: { method: 'GET', path: '/v1/audit/export' },
  tailDecisions: { method: 'GET', path: '/v1/tail' },
  openSession: { method: 'POST', path: '/v1/session' },
  getSession: { method: 'GET', path: '/v1/session' },
  endSession: { method: 'DELETE', path: '/v1/session' },
} as const satisfies Readonly<Record<keyof Operations, { readonly method: string; readonly path: string }>>;
