/** The changes that support makes to a tenant: override, credit, block, pass, their ends, and the plan. */

import { useState } from 'preact/hooks';
import { call } from '../../api/client';
import { ApiError } from '../../api/problem';
import { showHits, showLimit } from '../../api/show';
import { ChangeDialog } from '../../parts/change-dialog';
import { ChoiceField } from '../../parts/filters/choice-field';
import { TextField } from '../../parts/text-field';
import { NumberField, ReasonField, SpanField, untilOf, type Span } from './change-fields';
import { previewOf } from './preview';
import { limitsOf, type Bucket, type ControlRecord, type EndableRecord, type Explained, type Subject } from './subject';

export interface ChangeProps {
  readonly subject: Subject;
  readonly explained: Explained;
  readonly onClose: (wasWritten: boolean) => void;
}

const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year', 'total'] as const;

type Unit = (typeof UNITS)[number];

/** An identifier that people recognize; the time makes it unique. */
function newId({ entries }: Subject): string {
  const name = (entries[entries.length - 1]?.value ?? '').replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 32);
  return `console-${name}-${Date.now().toString(36)}`;
}

function idFor(subject: Subject, { control }: Explained, kind: ControlRecord['kind']): string {
  return control.find((record) => record.kind === kind)?.id ?? newId(subject);
}

export function OverrideChange({ subject, explained, onClose }: ChangeProps) {
  const limits = limitsOf(explained);
  const [id] = useState(() => idFor(subject, explained, 'override'));
  const [at, setAt] = useState('0');
  const chosen = limits[Number(at)];
  const [requests, setRequests] = useState((chosen?.requests_per_unit ?? 100) * 2);
  const [unit, setUnit] = useState<Unit>(UNITS.find((each) => each === chosen?.unit.toLowerCase()) ?? 'minute');
  const [span, setSpan] = useState<Span>('1 hour');
  const [reason, setReason] = useState('');
  const { domain, entries } = subject;
  const named = chosen === undefined || chosen.name === '' ? {} : { name: chosen.name };
  const multiplier = chosen?.unit_multiplier ?? 1;
  const multiplied = multiplier > 1 ? { unit_multiplier: multiplier } : {};
  return (
    <ChangeDialog
      title="Override a limit"
      note={`The override ${id} replaces the limit for this descriptor, on all instances within a second.`}
      verb="Write the override"
      onClose={onClose}
      run={async ({ isDry }) => {
        const reply = await call('putOverride', {
          params: { domain, id },
          query: { dry_run: isDry },
          body: { entries: [...entries], limit: { ...named, requests_per_unit: requests, unit, ...multiplied }, ...untilOf(span), reason },
        });
        return previewOf('Override', reply);
      }}
      fields={
        <>
          {limits.length > 1 && (
            <ChoiceField
              label="Limit"
              isWide
              value={at}
              onValue={(value) => {
                setAt(value);
                setRequests((limits[Number(value)]?.requests_per_unit ?? 100) * 2);
              }}
              choices={limits.map((limit, index) => [String(index), `${limit.name} ${showLimit(limit)}`])}
            />
          )}
          <NumberField label="Requests" min={0} value={requests} onValue={setRequests} />
          <ChoiceField
            label="Per"
            value={unit}
            onValue={(value) => {
              setUnit(UNITS.find((each) => each === value) ?? 'minute');
            }}
            choices={UNITS.map((each) => [each, multiplier === 1 || each === 'total' ? each : `${multiplier} ${each}s`])}
          />
          <SpanField value={span} onValue={setSpan} />
          <ReasonField value={reason} onValue={setReason} />
        </>
      }
    />
  );
}

export function CreditChange({ subject: { domain, entries }, explained, onClose }: ChangeProps) {
  const limits = limitsOf(explained);
  const [hits, setHits] = useState(Math.max(1, limits[0]?.requests_per_unit ?? 100));
  const [name, setName] = useState('');
  const [reason, setReason] = useState('');
  const [id] = useState(() => `console-${Date.now().toString(36)}`);
  const before = new Map(explained.buckets.map(({ key, remaining }: Bucket) => [key, remaining]));
  return (
    <ChangeDialog
      title="Give a credit"
      note="A credit gives hits back now, never beyond full."
      verb="Give the credit"
      onClose={onClose}
      run={async ({ isDry }) => {
        const { given, warnings } = await call('giveCredit', {
          query: { dry_run: isDry },
          body: { domain, entries: [...entries], hits, ...(name !== '' && { limit: name }), reason, ...(!isDry && { id }) },
        });
        return {
          changes: given.some((each) => each.hits > 0),
          effects: given.map(({ key, remaining, show: form }) => ({
            what: key,
            before: `${showHits(before.get(key) ?? 0, form)} left`,
            after: `${showHits(remaining, form)} left`,
          })),
          warnings: warnings.map(({ message }) => message),
        };
      }}
      fields={
        <>
          <NumberField label="Hits" min={1} value={hits} onValue={setHits} />
          {limits.length > 1 && (
            <ChoiceField
              label="Limit"
              value={name}
              onValue={setName}
              choices={[
                ['', 'all limits'],
                ...limits.filter((limit) => limit.name !== '').map((limit) => [limit.name, limit.name] as const),
              ]}
            />
          )}
          <ReasonField value={reason} onValue={setReason} />
        </>
      }
    />
  );
}

interface RecordChangeProps extends ChangeProps {
  readonly kind: 'block' | 'pass';
}

const RECORDS = {
  block: {
    title: 'Block',
    verb: 'Write the block',
    note: 'A block denies every request with this descriptor, on all instances within a second.',
  },
  pass: { title: 'Let pass', verb: 'Write the pass', note: 'A pass makes this descriptor unlimited, on all instances within a second.' },
} as const;

export function RecordChange({ kind, subject, explained, onClose }: RecordChangeProps) {
  const [span, setSpan] = useState<Span>('1 hour');
  const [reason, setReason] = useState('');
  const [id] = useState(() => idFor(subject, explained, kind));
  const { title, verb, note } = RECORDS[kind];
  return (
    <ChangeDialog
      title={title}
      note={note}
      verb={verb}
      onClose={onClose}
      run={async ({ isDry }) => {
        const input = {
          params: { domain: subject.domain, id },
          query: { dry_run: isDry },
          body: { entries: [...subject.entries], ...untilOf(span), reason },
        };
        return previewOf(kind === 'block' ? 'Block' : 'Pass', await call(kind === 'block' ? 'putBlock' : 'putPass', input));
      }}
      fields={
        <>
          <SpanField value={span} onValue={setSpan} />
          <ReasonField value={reason} onValue={setReason} />
        </>
      }
    />
  );
}

interface EndChangeProps extends ChangeProps {
  readonly record: EndableRecord;
}

const DELETES = { block: 'deleteBlock', pass: 'deletePass', override: 'deleteOverride' } as const;

export function EndChange({ record: { kind, id }, subject: { domain }, onClose }: EndChangeProps) {
  const [reason, setReason] = useState('');
  return (
    <ChangeDialog
      title={`End the ${kind}`}
      note={`The ${kind} ${id} is deleted, on all instances within a second.`}
      verb={`End the ${kind}`}
      onClose={onClose}
      run={async ({ isDry }) => previewOf(kind, await call(DELETES[kind], { params: { domain, id }, query: { dry_run: isDry, reason } }))}
      fields={<ReasonField value={reason} onValue={setReason} />}
    />
  );
}

interface PlanChangeProps extends ChangeProps {
  readonly tenant: string;
  readonly plan: string;
}

export function PlanChange({ tenant, plan: before, subject: { domain }, onClose }: PlanChangeProps) {
  const [plan, setPlan] = useState(before);
  const [span, setSpan] = useState<Span>('no end');
  const [reason, setReason] = useState('');
  return (
    <ChangeDialog
      title="Change the plan"
      note="Used hits stay where algorithm and window are the same."
      verb="Write the plan"
      onClose={onClose}
      run={async ({ isDry }) => {
        const parent = await parentOf({ domain, tenant });
        const body = { plan, ...(parent !== undefined && { parent }), ...untilOf(span), reason };
        return previewOf('Tenant', await call('putTenant', { params: { domain, tenant }, query: { dry_run: isDry }, body }), before);
      }}
      fields={
        <>
          <TextField label="Plan" hint="A plan of the configuration." required value={plan} onValue={setPlan} />
          <SpanField value={span} onValue={setSpan} />
          <ReasonField value={reason} onValue={setReason} />
        </>
      }
    />
  );
}

/** A change of the plan leaves the tenant where it is. */
async function parentOf(params: { readonly domain: string; readonly tenant: string }): Promise<string | undefined> {
  try {
    return (await call('getTenant', { params })).parent;
  } catch (error) {
    if (error instanceof ApiError && error.details.status === 404) return undefined;
    throw error;
  }
}
