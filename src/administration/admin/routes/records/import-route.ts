/** The route that puts many tenants on plans in one write. */

import { Type } from '@sinclair/typebox';
import { keyOf, type ControlRecord, type StoredRecord } from '../../../../state/control/control-record';
import { DETAILS_BYTES_MAX } from '../../../../state/control/control-service';
import { CHANGES_MAX, type WriteOutcome } from '../../../../state/control/control-store';
import type { AdminBackend } from '../../backend';
import { effectOfWrite } from '../../effect/record-effect';
import { WARNINGS_MAX, type Warning } from '../../effect/warning';
import { AdminProblem } from '../../problem';
import { route } from '../../route/route';
import { ahead, domain, dryRun, object, reason, wasDryRun } from '../../route/schemas';
import { effectInputOf, refuseIfStrict, strict, warnings } from './effect-schemas';
import { checkNames } from './known-names';
import { parent, plan, tenant, toRecord } from './record-schemas';
import { noteOf, reportWarnings, treeProblemText, writtenOrRefuse } from './write-record';

const SOURCE_CHARS_MAX = 200;

const index = Type.Integer({ minimum: 0, description: 'The place of the item, from 0.' });

const item = object({
  tenant,
  plan: Type.Optional(plan),
  parent,
  until: Type.Optional(Type.String({ maxLength: 40, description: 'When it ends, as in RFC 3339. Absent: it has no end.' })),
});

export const importTenants = route({
  method: 'POST',
  path: '/v1/tenants/{domain}',
  id: 'importTenants',
  tag: 'tenants',
  role: 'support',
  summary: `Puts up to ${CHANGES_MAX} tenants on plans in one write. A refused item does not stop the others; a tenant that has the plan and the end already stays as it is.`,
  params: object({ domain }),
  query: object({ dry_run: dryRun, strict, ahead }),
  body: object({
    items: Type.Array(item, { minItems: 1, maxItems: CHANGES_MAX }),
    source: Type.Optional(Type.String({ maxLength: SOURCE_CHARS_MAX, description: 'Where the items come from; for the audit log.' })),
    reason: Type.Optional(reason),
  }),
  reply: object({
    dry_run: wasDryRun,
    written: Type.Integer({ minimum: 0 }),
    same: Type.Integer({ minimum: 0, description: 'Tenants that have the plan and the end already.' }),
    version: Type.Optional(Type.Integer({ minimum: 0, description: 'The version of the tenants that were written.' })),
    refused: Type.Array(object({ index, problem: Type.String({ description: 'Says what is invalid, and what to do.' }) })),
    without_effect: Type.Array(object({ index, warnings }), { description: 'Tenants whose plan has no effect, or only a part of it.' }),
  }),
  problems: ['conflict', 'unavailable'],
  handle: async (call, backend) => {
    const { body, query, caller, params } = call;
    const isDryRun = query.dry_run ?? false;
    const { records, refused } = readItems(body.items, {
      domain: params.domain,
      author: caller.name,
      reason: body.reason,
      isAhead: query.ahead ?? false,
      backend,
    });
    const stored = await backend.control.read(records.map(({ record }) => keyOf(record)));
    const placed = records.map(({ index: at, record }, i): Indexed => ({ index: at, record: keepingParent(record, stored[i]) }));
    const differing = placed.filter(({ record }, at) => !isSame(record, stored[at], backend.nowMs()));
    const { accepted, withoutEffect } = examine(differing, { isStrict: query.strict ?? false, refused, backend });
    const parents = new Map(stored.flatMap((each) => (each?.record.kind === 'tenant' ? [[each.record.tenant, each.record.parent]] : [])));
    const write = (written: readonly Indexed[]) =>
      backend.control.write({
        changes: written.map(({ record }) => ({ put: record })),
        audit: {
          ...noteOf(caller.name, 'import', body.reason),
          details: detailsOf({
            domain: params.domain,
            source: body.source,
            counts: { written: written.length, same: records.length - differing.length, refused: refused.length },
            written,
            parents,
          }),
        },
        ...(isDryRun && { dryRun: true }),
      });
    const { version, written } = await writeAccepted(accepted, { write, refused });
    if (!isDryRun) {
      const subject = `an import of tenants into ${params.domain}`;
      const found = withoutEffect.flatMap((each) => each.warnings).slice(0, WARNINGS_MAX);
      reportWarnings(backend, { author: caller.name, subject, warnings: found });
    }
    return {
      body: {
        dry_run: isDryRun,
        written,
        same: records.length - differing.length,
        ...(version !== undefined && !isDryRun && { version }),
        refused: refused.sort((a, b) => a.index - b.index),
        without_effect: withoutEffect,
      },
    };
  },
});

interface Refusal {
  readonly index: number;
  readonly problem: string;
}

interface Indexed {
  readonly index: number;
  readonly record: ControlRecord;
}

interface ReadOptions {
  readonly domain: string;
  readonly author: string;
  readonly reason: string | undefined;
  readonly isAhead: boolean;
  readonly backend: AdminBackend;
}

interface Item {
  readonly tenant: string;
}

function readItems(items: readonly Item[], { domain: inDomain, author, reason: why, isAhead, backend }: ReadOptions) {
  const records: Indexed[] = [];
  const refused: Refusal[] = [];
  const seen = new Set<string>();
  const nowMs = backend.nowMs();
  items.forEach(({ tenant: name, ...fields }, at) => {
    try {
      if (seen.has(name)) throw AdminProblem.ofField('body/tenant', 'an earlier item has this tenant; remove one of them');
      seen.add(name);
      const key = { kind: 'tenant', domain: inDomain, name } as const;
      const body = { ...fields, ...(why !== undefined && { reason: why }) };
      const record = toRecord({ key, body, author, nowMs });
      if (!isAhead) checkNames(record, backend);
      records.push({ index: at, record });
    } catch (error) {
      refused.push({ index: at, problem: problemOf(error) });
    }
  });
  return { records, refused };
}

interface ExamineOptions {
  readonly isStrict: boolean;
  /** Gets those that a strict import refuses. */
  readonly refused: Refusal[];
  readonly backend: AdminBackend;
}

function examine(records: readonly Indexed[], { isStrict, refused, backend }: ExamineOptions) {
  const accepted: Indexed[] = [];
  const withoutEffect: { readonly index: number; readonly warnings: Warning[] }[] = [];
  const input = effectInputOf(backend);
  for (const { index: at, record } of records) {
    const found = effectOfWrite(record, input).warnings;
    try {
      refuseIfStrict(found, isStrict);
      accepted.push({ index: at, record });
      if (found.length > 0) withoutEffect.push({ index: at, warnings: [...found] });
    } catch (error) {
      refused.push({ index: at, problem: problemOf(error) });
    }
  }
  return { accepted, withoutEffect };
}

/** A file without a column for parents moves nobody. */
function keepingParent(record: ControlRecord, stored: StoredRecord | undefined): ControlRecord {
  if (record.kind !== 'tenant' || stored?.record.kind !== 'tenant') return record;
  const { parent } = stored.record;
  return parent === undefined || record.parent !== undefined || record.untilMs !== undefined ? record : { ...record, parent };
}

interface WriteAcceptedOptions {
  readonly write: (records: readonly Indexed[]) => Promise<WriteOutcome>;
  /** Gets those that the tree of tenants refuses. */
  readonly refused: Refusal[];
}

/** All that the trees accept in one write: each try is with one item fewer. */
async function writeAccepted(accepted: readonly Indexed[], { write, refused }: WriteAcceptedOptions) {
  let left = accepted;
  while (left.length > 0) {
    const outcome = await write(left);
    if (outcome.kind !== 'tree') return { version: writtenOrRefuse(outcome).version, written: left.length };
    const { index: at } = outcome;
    refused.push({ index: left[at]?.index ?? 0, problem: `parent: ${treeProblemText(outcome)}` });
    left = left.filter((_, i) => i !== at);
  }
  return { version: undefined, written: 0 };
}

/** @throws what does not concern the item */
function problemOf(error: unknown): string {
  if (!(error instanceof AdminProblem)) throw error;
  const [field] = error.errors ?? [];
  return field === undefined ? error.detail : `${field.field.replace(/^(body|path)\//, '')}: ${field.problem}`;
}

/** A repeated import changes nothing, also with another author and reason. */
function isSame(record: ControlRecord, stored: StoredRecord | undefined, nowMs: number): boolean {
  if (record.kind !== 'tenant' || stored?.record.kind !== 'tenant') return false;
  const { untilMs } = stored.record;
  return (
    stored.record.plan === record.plan &&
    stored.record.parent === record.parent &&
    untilMs === record.untilMs &&
    (untilMs ?? Infinity) > nowMs
  );
}

interface Counts {
  readonly written: number;
  readonly same: number;
  readonly refused: number;
}

interface Details {
  readonly domain: string;
  readonly source: string | undefined;
  readonly counts: Counts;
  readonly written: readonly Indexed[];
  /** Before the write, by tenant. */
  readonly parents: ReadonlyMap<string, string | undefined>;
}

/** With the names of the tenants, by which the audit log is searched, and with their moves between parents, unless they are very long. */
function detailsOf({ domain: inDomain, source, counts, written, parents }: Details): string {
  const details = { domain: inDomain, kind: 'tenant', ...(source !== undefined && { source }), ...counts };
  const tenants = written.map(({ record }) => keyOf(record).name);
  const moved = written.flatMap(({ record }) => {
    const from = record.kind === 'tenant' ? parents.get(record.tenant) : undefined;
    const to = record.kind === 'tenant' ? record.parent : undefined;
    return from === to ? [] : [{ tenant: keyOf(record).name, from: from ?? null, to: to ?? null }];
  });
  const named = JSON.stringify({ ...details, tenants, ...(moved.length > 0 && { moved }) });
  return Buffer.byteLength(named) <= DETAILS_BYTES_MAX ? named : JSON.stringify({ ...details, omitted: 'tenants' });
}
