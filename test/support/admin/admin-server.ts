/** An admin server for tests: the real server, routes and authentication, with the embedded store and control data in memory. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Authenticator } from '../../../src/administration/admin/auth/authenticator';
import type { AdminBackend, CurrentRules, WithoutEffect } from '../../../src/administration/admin/backend';
import type { TailSample } from '../../../src/server/observability/tail/tail-sample';
import type { Role } from '../../../src/administration/admin/role';
import type { LiveCounts } from '../../../src/administration/admin/live/live-counts';
import { History } from '../../../src/administration/admin/history/history';
import { CountReader } from '../../../src/administration/admin/live/count-reader';
import { LiveFigures } from '../../../src/administration/admin/live/live-figures';
import { ADMIN_ROUTES } from '../../../src/administration/admin/routes/routes';
import { AdminServer } from '../../../src/administration/admin/server/admin-server';
import type { ConsoleFiles } from '../../../src/administration/admin/server/console-files';
import { MemoryBuckets } from '../../../src/administration/admin/memory-buckets';
import { examineConfig } from '../../../src/configuration/compile/compile';
import type { DeclaredLevel } from '../../../src/configuration/compile/lint/declared-level';
import { ControlData } from '../../../src/state/control/control-data';
import { ControlFollower } from '../../../src/state/control/control-follower';
import { ControlService } from '../../../src/state/control/control-service';
import { LocalControlStore } from '../../../src/state/control/local-control-store';
import type { PlanSpec } from '../../../src/configuration/compile/read/read-plans';
import type { Plan } from '../../../src/domain/rule/plan';
import type { DescriptorLevel } from '../../../src/domain/rule/tree';
import { settingsInForce } from '../../../src/configuration/settings/settings-in-force';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { MemoryDemandBoard } from '../../../src/state/fair/memory-demand-board';
import { MemoryRolloutCounter } from '../../../src/state/rollout/memory-rollout-counter';
import type { TopKeys } from '../../../src/state/top/top-keys';
import { readDocument } from '../../../src/configuration/yaml/config-document';

export const TOKENS: Readonly<Record<Role, string>> = {
  tenant: 'tenant-0123456789abcdef',
  viewer: 'viewer-0123456789abcdef',
  support: 'support-0123456789abcdef',
  admin: 'admin-0123456789abcdef',
};

export const PAYMENTS = `
domain: payments
plans:
  basic:
    rate_limit: { unit: minute, requests_per_unit: 100 }
  gold:
    rate_limit: { unit: minute, requests_per_unit: 900 }
  enterprise:
    rate_limit: { unit: minute, requests_per_unit: 5000 }
descriptors:
  - key: merchant
    rate_limit: { name: per merchant, unit: minute, requests_per_unit: 100 }
    descriptors:
      - key: endpoint
        value: /charge
        rate_limits:
          - { name: bursts, unit: second, requests_per_unit: 5 }
          - { name: daily, unit: day, requests_per_unit: 1000 }
  - key: free
    rate_limit: { unlimited: true }
  - { key: tenant, tenant: true, default_plan: basic }
`;

/** The counters of a process that has decided nothing. */
const NO_COUNTS: LiveCounts = {
  atMs: Date.now(),
  decisions: 0,
  errors: 0,
  fallbackDecisions: 0,
  cachedDenials: 0,
  unmatched: 0,
  decisionTimes: { bounds: [Infinity], counts: [0] },
  stores: [],
  rules: { added: [], asked: new Float64Array(), over: new Float64Array(), near: new Float64Array(), shadow: new Float64Array() },
};

export interface AdminHarnessOptions {
  readonly yaml?: string;
  readonly pageMax?: number;
  readonly failedTriesMax?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly needsAuth?: boolean;
  readonly usageOrigins?: readonly string[];
  readonly consoleFiles?: ConsoleFiles;
  readonly change?: (backend: AdminBackend) => AdminBackend;
}

export interface AdminHarness {
  readonly url: string;
  readonly tokensFile: string;
  readonly store: MemoryStore;
  readonly authenticator: Authenticator;
  /** Bugs that the server has reported. */
  readonly errors: readonly Error[];
  /** Writes with warnings. */
  readonly withoutEffect: readonly WithoutEffect[];
  /** Reports a decision to all tails. */
  readonly sample: (sample: TailSample) => void;
  readonly tails: () => number;
  close(): Promise<void>;
}

/** The role `tenant` is that of m1 in the domain payments. */
export function tokenLine(name: string, role: Role, token: string): string {
  return `${name} ${role} ${createHash('sha256').update(token).digest('hex')}${role === 'tenant' ? ' payments m1' : ''}\n`;
}

export function rulesOf(yaml: string): CurrentRules {
  const levels = new Map<DescriptorLevel, DeclaredLevel>();
  const plans = new Map<Plan, PlanSpec>();
  const { ruleSet, list } = examineConfig({
    files: [readDocument({ name: 'limits.yaml', text: yaml })],
    defaultAlgorithm: 'token_bucket',
    generation: 1,
    onLevel: (declared) => levels.set(declared.level, declared),
    onPlan: (spec, plan) => plans.set(plan, spec),
  });
  list.throwIfAny();
  return { ruleSet, levels, plans };
}

async function openLocalControl(nowUs: () => number) {
  const store = new LocalControlStore({ nowUs });
  const data = new ControlData();
  const follower = new ControlFollower({ store, data, nowUs, onState: () => undefined });
  await follower.start({ waitMs: 5_000 });
  return { data, follower, service: new ControlService({ store, data, follower, nowMs: () => Date.now() }) };
}

export async function startAdminServer({
  yaml = PAYMENTS,
  pageMax = 50,
  failedTriesMax = 10,
  env = {},
  needsAuth = true,
  usageOrigins = [],
  consoleFiles,
  change = (backend) => backend,
}: AdminHarnessOptions = {}): Promise<AdminHarness> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-admin-'));
  const tokensFile = join(folder, 'tokens');
  writeFileSync(
    tokensFile,
    Object.entries(TOKENS)
      .map(([role, token]) => tokenLine(`${role}-1`, role as Role, token))
      .join(''),
  );
  const nowUs = () => Date.now() * 1_000;
  const store = new MemoryStore({ nowUs, bucketsMax: 10_000 });
  const rules = rulesOf(yaml);
  const control = await openLocalControl(nowUs);
  const errors: Error[] = [];
  const withoutEffect: WithoutEffect[] = [];
  const listeners = new Set<(sample: TailSample) => void>();
  const instances = {
    list: () =>
      Promise.resolve([
        {
          id: 'a',
          host: 'h',
          pid: 1,
          version: '0',
          startedAtMs: 0,
          reportedAtMs: 1,
          generation: 1,
          domains: 1,
          configRefused: false,
          degraded: [],
        },
      ]),
  };
  const top: TopKeys = {
    top: () => Promise.resolve({ items: [], unlistedMax: 0, totalHits: 0, coveredMs: 0, instances: 1, missing: 0 }),
  };
  const counter = new CountReader({ counts: () => Promise.resolve(NO_COUNTS) });
  const backend = change({
    control: control.service,
    controlView: control.data,
    onWithoutEffect: (write) => withoutEffect.push(write),
    rules: { current: () => rules, problems: () => [], modes: { shadow: false, quota: false }, keyPrefix: '' },
    buckets: new MemoryBuckets({ store, keyPrefix: '' }),
    instances,
    rollouts: new MemoryRolloutCounter(nowUs),
    demand: new MemoryDemandBoard(),
    tail: {
      open: (_, onSample) => {
        listeners.add(onSample);
        return { close: () => listeners.delete(onSample) };
      },
    },
    top,
    live: new LiveFigures({ counter, nowMs: () => Date.now() }),
    history: new History({ counter, top, instances, nowMs: () => Date.now() }),
    settings: () => settingsInForce(env),
    nowMs: () => Date.now(),
  });
  const authenticator = await Authenticator.open({
    needsAuth,
    failedTriesMax,
    ...(needsAuth && { tokensFile }),
    nowMs: () => performance.now(),
    onFileChange: () => undefined,
    onFileProblem: () => undefined,
  });
  const server = new AdminServer({
    routes: ADMIN_ROUTES,
    backend,
    authenticator,
    needsAuth,
    port: 0,
    usageOrigins,
    ...(consoleFiles && { consoleFiles }),
    bodyBytesMax: 65_536,
    pageMax,
    version: '0.0.0',
    onError: (error) => errors.push(error),
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    url: `http://127.0.0.1:${port}`,
    tokensFile,
    store,
    authenticator,
    errors,
    withoutEffect,
    sample: (sample) => {
      for (const listener of listeners) listener(sample);
    },
    tails: () => listeners.size,
    close: async () => {
      authenticator.close();
      await server.close();
      await control.follower.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
