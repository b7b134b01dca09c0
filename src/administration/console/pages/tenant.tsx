/** A tenant, or any other descriptor: its plan, the limits in force, what is left, denials, audit, and changes. */

import { useState } from 'preact/hooks';
import { call } from '../api/client';
import { DescriptorTextError, readDescriptor, showDescriptor, writeDescriptor } from '../api/descriptor-text';
import { linkTo, place } from '../api/route';
import { mayChange } from '../api/session';
import { NONE, showDuration, showLimit, showTime } from '../api/show';
import { usePoll } from '../api/use-poll';
import { DataTable } from '../parts/data-table';
import { FailureNote } from '../parts/failure';
import { LeftBar } from '../parts/left-bar';
import { State } from '../parts/state';
import { CreditChange, EndChange, OverrideChange, PlanChange, RecordChange } from './tenant/changes';
import { Denials } from './tenant/denials';
import { explain, isEndable, limitsOf, placeText, sourceText, type EndableRecord, type Explained, type Subject } from './tenant/subject';
import { Tree } from './tenant/tree';
import { Usage } from './tenant/usage';
import { SubjectAudit } from './tenant/subject-audit';

const LIVE_MS = 5_000;

export function TenantPage() {
  const { query } = place.value;
  const domain = query.get('domain') ?? '';
  const tenant = query.get('tenant');
  const text = query.get('entries') ?? '';
  if (tenant !== null) return <TenantDescriptors key={`${domain} ${tenant}`} domain={domain} tenant={tenant} />;
  try {
    const entries = readDescriptor(text);
    return <SubjectView key={`${domain} ${text}`} subject={{ domain, entries }} text={text} />;
  } catch (error) {
    if (!(error instanceof DescriptorTextError)) throw error;
    return (
      <>
        <h1>Tenant</h1>
        <p>
          The address names no descriptor. <a href={linkTo('tenants')}>Tenants</a>
        </p>
      </>
    );
  }
}

/** A tenant by its name: the configuration says under which descriptors it is one. */
function TenantDescriptors({ domain, tenant }: { readonly domain: string; readonly tenant: string }) {
  const { data, error } = usePoll((signal) => call('getTenantLimits', { params: { domain, tenant }, query: {} }, { signal }), {
    key: `${domain} ${tenant}`,
  });
  const descriptors = data?.descriptors ?? [];
  const [only] = descriptors;
  if (only !== undefined && descriptors.length === 1 && only.needs === undefined)
    return <SubjectView subject={{ domain, entries: only.entries }} text={writeDescriptor(only.entries)} />;
  return (
    <>
      <p class="kicker">Tenant in {domain}</p>
      <h1 class="subject">{tenant}</h1>
      <FailureNote error={error} />
      {data !== undefined && (
        <section aria-labelledby="descriptors">
          <h2 id="descriptors">Descriptors of the tenant</h2>
          <DataTable
            caption="Descriptors of the tenant"
            hidesCaption
            rows={descriptors}
            keyOf={({ file, line }) => `${file}:${line}`}
            empty="No descriptor of the domain has tenants."
            columns={[
              {
                head: 'Descriptor',
                isHead: true,
                cell: ({ entries, needs }) =>
                  needs === undefined ? (
                    <a href={linkTo('tenant', { domain, entries: writeDescriptor(entries) })}>{showDescriptor(entries)}</a>
                  ) : (
                    `${showDescriptor(entries)}, with a value for ${needs.join(', ')}`
                  ),
              },
              { head: 'Plan', cell: ({ plan = NONE }) => plan },
              {
                head: 'Limits',
                cell: ({ limits }) => limits.map((limit) => showLimit(limit)).join(', '),
              },
              { head: 'Line', cell: ({ file, line }) => <code class="place">{`${file}:${line}`}</code> },
            ]}
          />
        </section>
      )}
    </>
  );
}

type Changing =
  { readonly kind: 'override' | 'credit' | 'block' | 'pass' | 'plan' } | { readonly kind: 'end'; readonly record: EndableRecord };

function SubjectView({ subject, text }: { readonly subject: Subject; readonly text: string }) {
  const [version, setVersion] = useState(0);
  const [changing, setChanging] = useState<Changing | undefined>(undefined);
  const [said, setSaid] = useState('');
  const { data, error, again } = usePoll((signal) => explain(subject, signal), {
    key: `${subject.domain} ${text} ${version}`,
    everyMs: LIVE_MS,
  });
  const last = subject.entries[subject.entries.length - 1];
  const tenant = last?.value ?? '';
  const plan = data?.explanation.descriptors[0]?.plan;
  const close = (wasWritten: boolean): void => {
    setChanging(undefined);
    if (!wasWritten) return;
    setSaid('The change is written. It is in force on all instances within a second.');
    setVersion((known) => known + 1);
    again();
  };
  return (
    <>
      <p class="kicker">
        {plan === undefined ? 'Descriptor' : 'Tenant'} in {subject.domain}
      </p>
      <h1 class="subject">{tenant === '' ? text : tenant}</h1>
      <p class="muted">
        <code>{showDescriptor(subject.entries)}</code> <a href={linkTo('try', { domain: subject.domain, d: text })}>Explain</a>
      </p>
      <p role="status" class="said">
        {said !== '' && <State kind="ok">{said}</State>}
      </p>
      <FailureNote error={error} />
      {data !== undefined && (
        <>
          <Standing explained={data} onChange={setChanging} />
          <Limits explained={data} />
          {plan !== undefined && <Tree key={version} domain={subject.domain} tenant={tenant} />}
          <Usage subject={subject} text={text} />
          <Denials subject={subject} text={text} />
          {mayChange.value && <SubjectAudit subject={subject} version={version} />}
        </>
      )}
      {changing !== undefined && data !== undefined && (
        <Change changing={changing} subject={subject} explained={data} tenant={tenant} plan={plan ?? ''} onClose={close} />
      )}
    </>
  );
}

interface ChangeViewProps {
  readonly changing: Changing;
  readonly subject: Subject;
  readonly explained: Explained;
  readonly tenant: string;
  readonly plan: string;
  readonly onClose: (wasWritten: boolean) => void;
}

function Change({ changing, tenant, plan, ...props }: ChangeViewProps) {
  switch (changing.kind) {
    case 'override':
      return <OverrideChange {...props} />;
    case 'credit':
      return <CreditChange {...props} />;
    case 'plan':
      return <PlanChange {...props} tenant={tenant} plan={plan} />;
    case 'end':
      return <EndChange {...props} record={changing.record} />;
    case 'block':
    case 'pass':
      return <RecordChange {...props} kind={changing.kind} />;
  }
}

interface StandingProps {
  readonly explained: Explained;
  readonly onChange: (changing: Changing) => void;
}

/** Shows what holds now, and the buttons that change it. */
function Standing({ explained, onChange }: StandingProps) {
  const [descriptor] = explained.explanation.descriptors;
  const plan = descriptor?.plan;
  const record = explained.control.find(({ kind }) => kind === 'tenant');
  const isBlocked = explained.control.some(({ kind }) => kind === 'block');
  return (
    <section aria-label="Now">
      <dl class="facts">
        <div>
          <dt>A request now</dt>
          <dd>
            {explained.over_limit ? (
              <State kind="bad">would be denied{isBlocked ? ' by a block' : ''}</State>
            ) : (
              <State kind="ok">would pass</State>
            )}
          </dd>
        </div>
        {plan !== undefined && (
          <div>
            <dt>Plan</dt>
            <dd>
              <b>{plan}</b> <span class="muted">{planReason(descriptor?.plan_source, record)}</span>
            </dd>
          </div>
        )}
        {explained.control.filter(isEndable).map((each) => (
          <InForce key={`${each.kind} ${each.id}`} record={each} onChange={onChange} />
        ))}
        {explained.without_effect.map(({ kind, id, effect, warnings }) => (
          <div key={`idle ${kind} ${id}`}>
            <dt>{kind}</dt>
            <dd>
              <code>{id}</code>{' '}
              <State kind={effect === 'none' ? 'bad' : 'warn'}>
                {effect === 'none' ? 'no effect' : 'effect in part'}: {warnings[0]?.message}
              </State>
            </dd>
          </div>
        ))}
      </dl>
      {mayChange.value && (
        <Actions hasLimits={limitsOf(explained).length > 0} isBlocked={isBlocked} hasPlan={plan !== undefined} onChange={onChange} />
      )}
    </section>
  );
}

interface InForceProps extends Pick<StandingProps, 'onChange'> {
  readonly record: EndableRecord;
}

/** A record that holds, and the button that ends it. */
function InForce({ record, onChange }: InForceProps) {
  return (
    <div>
      <dt>{record.kind}</dt>
      <dd>
        <code>{record.id}</code> <span class="muted">{recordText(record)}</span>{' '}
        {mayChange.value && (
          <button
            type="button"
            onClick={() => {
              onChange({ kind: 'end', record });
            }}
          >
            End the {record.kind}
          </button>
        )}
      </dd>
    </div>
  );
}

interface ActionsProps extends Pick<StandingProps, 'onChange'> {
  readonly hasLimits: boolean;
  readonly hasPlan: boolean;
  readonly isBlocked: boolean;
}

function Actions({ hasLimits, hasPlan, isBlocked, onChange }: ActionsProps) {
  return (
    <div class="buttons">
      {hasLimits && (
        <>
          <Action
            name="Override"
            onClick={() => {
              onChange({ kind: 'override' });
            }}
          />
          <Action
            name="Credit"
            onClick={() => {
              onChange({ kind: 'credit' });
            }}
          />
        </>
      )}
      {!isBlocked && (
        <Action
          name="Block"
          onClick={() => {
            onChange({ kind: 'block' });
          }}
        />
      )}
      <Action
        name="Let pass"
        onClick={() => {
          onChange({ kind: 'pass' });
        }}
      />
      {hasPlan && (
        <Action
          name="Plan"
          onClick={() => {
            onChange({ kind: 'plan' });
          }}
        />
      )}
    </div>
  );
}

type Descriptor = Explained['explanation']['descriptors'][number];

type ControlRecord = Explained['control'][number];

function planReason(source: Descriptor['plan_source'], record: ControlRecord | undefined): string {
  if (source?.unknown_plan !== undefined) return `by default: the configuration has no plan ${source.unknown_plan}`;
  if (source?.members_of !== undefined) return `which the plan of ${source.members_of} names for members`;
  return record === undefined || source?.is_default === true ? 'by default' : recordText(record);
}

/** Until when, by whom and why. */
function recordText({ until, author, reason }: ControlRecord): string {
  const parts = [
    until === undefined ? 'without an end' : `until ${showTime(until)}`,
    author && `by ${author}`,
    reason && `because: ${reason}`,
  ];
  return parts.filter((part) => part !== undefined && part !== '').join(', ');
}

function Action({ name, onClick }: { readonly name: string; readonly onClick: () => void }) {
  return (
    <button type="button" onClick={onClick}>
      {name}…
    </button>
  );
}

function Limits({ explained }: { readonly explained: Explained }) {
  const limits = limitsOf(explained);
  const buckets = new Map(explained.buckets.map((bucket) => [bucket.key, bucket]));
  const why = explained.explanation.descriptors[0]?.not_limited;
  return (
    <section aria-labelledby="limits">
      <h2 id="limits">Limits in force</h2>
      <DataTable
        caption="Limits in force"
        hidesCaption
        rows={limits}
        keyOf={({ bucket_key: key }) => key}
        empty={why ?? 'No limit applies.'}
        columns={[
          {
            head: 'Limit',
            isHead: true,
            cell: ({ name, pool }) => `${name === '' ? 'without a name' : name}${pool === undefined ? '' : `, pool of ${pool}`}`,
          },
          { head: 'Value', isNumber: true, cell: (limit) => showLimit(limit) },
          {
            head: 'Left',
            cell: ({ bucket_key: key, show }) => {
              const bucket = buckets.get(key);
              return bucket === undefined ? NONE : <LeftBar left={bucket.remaining} of={bucket.limit.capacity} form={show} />;
            },
          },
          {
            head: 'Full again',
            isNumber: true,
            cell: ({ bucket_key: key, unit }) => {
              const bucket = buckets.get(key);
              if (unit === 'total') return 'never';
              return bucket === undefined || bucket.reset_after_ms === 0 ? NONE : `in ${showDuration(bucket.reset_after_ms)}`;
            },
          },
          { head: 'From', cell: sourceText },
          { head: 'Line', cell: (limit) => <code class="place">{placeText(limit) ?? NONE}</code> },
        ]}
      />
      <p class="muted">
        Configuration generation {explained.generation}, read every {LIVE_MS / 1_000} s.
      </p>
    </section>
  );
}
