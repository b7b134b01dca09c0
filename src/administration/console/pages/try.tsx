/** Try: descriptors in, the whole explanation out, under an address that can be shared. Nothing is charged. */

import { useEffect, useState } from 'preact/hooks';
import type { Bucket, ExplainedDescriptor, MatchCandidate, MatchLevel } from '../../admin-client/operations';
import { call, type Reply } from '../api/client';
import { readDescriptor, showDescriptor } from '../api/descriptor-text';
import { messageOf } from '../api/problem';
import { linkTo, place, replacePlace } from '../api/route';
import { showDuration, showLimit, showTime } from '../api/show';
import { useDomains } from '../api/use-domains';
import { DataTable } from '../parts/data-table';
import { DomainField } from '../parts/filters/domain-field';
import { FailureNote } from '../parts/failure';
import { Field } from '../parts/field';
import { LeftBar } from '../parts/left-bar';
import { SimulationPicture } from '../parts/simulation-picture';
import { State } from '../parts/state';
import { TextField } from '../parts/text-field';

type Explained = Reply<'explainRequest'>;

/** Asks for the explanation of descriptors; the last answer stands until the next one. */
function useExplanation() {
  const [explained, setExplained] = useState<Explained | undefined>(undefined);
  const [error, setError] = useState<Error | undefined>(undefined);
  const ask = async (domain: string, lines: readonly string[]): Promise<void> => {
    setError(undefined);
    try {
      const descriptors = lines.map((line) => ({ entries: readDescriptor(line) }));
      setExplained(await call('explainRequest', { body: { domain, descriptors } }));
    } catch (failure) {
      setExplained(undefined);
      setError(failure instanceof Error ? failure : new Error(messageOf(failure)));
    }
  };
  return { explained, error, ask };
}

export function TryPage() {
  const { query } = place.value;
  const domains = useDomains();
  const [chosen, setDomain] = useState<string | undefined>(query.get('domain') ?? undefined);
  const [text, setText] = useState(query.getAll('d').join('\n'));
  const { explained, error, ask } = useExplanation();
  const [said, setSaid] = useState('');
  const domain = chosen ?? domains.names[0] ?? '';
  // A shared address asks at once.
  useEffect(() => {
    const lines = query.getAll('d');
    const inDomain = query.get('domain');
    if (inDomain !== null && lines.length > 0) void ask(inDomain, lines);
  }, []);
  const submit = (): void => {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    replacePlace(linkTo('try', { domain, d: lines }));
    setSaid('');
    void ask(domain, lines);
  };
  return (
    <>
      <h1>Try</h1>
      <form
        class="filters tall"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <DomainField domains={domains.names} value={domain} onValue={setDomain} />
        <Field
          label="Descriptors"
          hint="One a line, as Envoy sends them: key=value,key=value. A backslash before a comma or = makes it a part of the value."
          control={(ids) => (
            <textarea
              {...ids}
              required
              rows={3}
              spellcheck={false}
              value={text}
              onInput={(event) => {
                setText(event.currentTarget.value);
              }}
            />
          )}
        />
        <div class="buttons">
          <button type="submit" class="main">
            Explain
          </button>
          {explained !== undefined && <CopyLink onSaid={setSaid} />}
          <span role="status">{said}</span>
        </div>
      </form>
      <FailureNote error={error} />
      {explained !== undefined && <Explanation explained={explained} />}
      {explained !== undefined && <Simulate key={text} domain={domain} text={text} />}
    </>
  );
}

/** Requests at a rate under the same limits, from full buckets. */
function Simulate({ domain, text }: { readonly domain: string; readonly text: string }) {
  const [perSecond, setPerSecond] = useState('1');
  const [forSeconds, setForSeconds] = useState('60');
  const [burst, setBurst] = useState('0');
  const [simulated, setSimulated] = useState<Reply<'simulateRequest'> | undefined>(undefined);
  const [error, setError] = useState<Error | undefined>(undefined);
  const simulate = async (): Promise<void> => {
    setError(undefined);
    try {
      const descriptors = text
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => ({ entries: readDescriptor(line) }));
      const body = { domain, descriptors, per_second: Number(perSecond), for_seconds: Number(forSeconds), burst: Number(burst) };
      setSimulated(await call('simulateRequest', { body }));
    } catch (failure) {
      setSimulated(undefined);
      setError(failure instanceof Error ? failure : new Error(messageOf(failure)));
    }
  };
  return (
    <section aria-labelledby="simulate">
      <h2 id="simulate">Under a rate</h2>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          void simulate();
        }}
      >
        <TextField label="Requests a second" value={perSecond} onValue={setPerSecond} required />
        <TextField label="For seconds" value={forSeconds} onValue={setForSeconds} required />
        <TextField label="At once at the start" value={burst} onValue={setBurst} required />
        <div class="buttons">
          <button type="submit">Simulate</button>
        </div>
      </form>
      <FailureNote error={error} />
      {simulated !== undefined && (
        <SimulationPicture
          columns={simulated.columns}
          capacity={simulated.capacity ?? 0}
          label={`${simulated.admitted} of ${simulated.requests} requests would be admitted, ${simulated.denied} denied, from full buckets.`}
        />
      )}
    </section>
  );
}

function CopyLink({ onSaid }: { readonly onSaid: (sentence: string) => void }) {
  return (
    <button
      type="button"
      onClick={() => {
        void navigator.clipboard.writeText(location.href).then(
          () => {
            onSaid('The link is copied.');
          },
          () => {
            onSaid('The browser did not allow the copy; the address of this page is the link.');
          },
        );
      }}
    >
      Copy the link
    </button>
  );
}

function Explanation({ explained }: { readonly explained: Explained }) {
  const {
    explanation: { domain, domain_found: isKnown, refused, descriptors },
    control,
    buckets,
    over_limit: isOver,
    generation,
  } = explained;
  return (
    <>
      <section aria-labelledby="verdict">
        <h2 id="verdict">Verdict</h2>
        <p class="verdict">
          {isOver ? <State kind="bad">OVER_LIMIT: the request would be denied</State> : <State kind="ok">OK: the request would pass</State>}{' '}
          <span class="muted">one hit for each descriptor, configuration generation {generation}</span>
        </p>
        {!isKnown && (
          <p>
            <State kind="warn">The configuration has no domain {domain}, so nothing is limited.</State>
          </p>
        )}
        {refused !== undefined && <State kind="bad">Refused: {refused}.</State>}
      </section>
      {descriptors.map((descriptor, index) => (
        <section key={index} aria-labelledby={`descriptor-${index}`}>
          <h2 id={`descriptor-${index}`}>
            Descriptor {index + 1} <code>{showDescriptor(descriptor.entries)}</code>
          </h2>
          <ul class="states">
            {control
              .filter((record) => record.descriptor === index)
              .map(({ kind, id, until }) => (
                <li key={`${kind} ${id}`}>
                  <State kind={kind === 'block' ? 'bad' : 'warn'}>
                    {kind} {id}, {until === undefined ? 'without an end' : `until ${showTime(until)}`}
                  </State>
                </li>
              ))}
            {descriptor.plan !== undefined && <li>Plan {descriptor.plan}</li>}
            <ClassLine descriptor={descriptor} />
            <MemberLine descriptor={descriptor} />
            {descriptor.not_limited !== undefined && (
              <li>
                <State kind="off">{descriptor.not_limited}</State>
              </li>
            )}
          </ul>
          <Levels levels={descriptor.levels} />
          <Buckets
            descriptor={descriptor}
            buckets={buckets.filter(
              (bucket) => bucket.descriptor === index || descriptor.limits.some(({ bucket_key: key }) => key === bucket.key),
            )}
          />
        </section>
      ))}
    </>
  );
}

function Levels({ levels }: { readonly levels: readonly MatchLevel[] }) {
  return (
    <ol class="levels">
      {levels.map(({ entry, winner, losers, omitted, other_keys: others }, index) => (
        <li key={index}>
          <code>
            {entry.key}={entry.value}
          </code>
          <ul>
            {winner !== undefined && <CandidateLine candidate={winner} isWinner />}
            {losers.map((loser) => (
              <CandidateLine key={`${loser.file} ${loser.line} ${loser.reason}`} candidate={loser} isWinner={false} />
            ))}
            {omitted > 0 && <li class="muted">and {omitted} more with this key</li>}
            {others > 0 && <li class="muted">and {others} with other keys</li>}
          </ul>
        </li>
      ))}
    </ol>
  );
}

/** The class of the descriptor, where others have a part of its limits. */
function ClassLine({ descriptor: { reserve } }: { readonly descriptor: ExplainedDescriptor }) {
  if (reserve === undefined) return null;
  const { entry, class: name, kept_percent: kept } = reserve;
  return (
    <li>
      {name === undefined ? 'No class' : `Class ${name}`} of {entry}: {kept === 0 ? 'may use all' : `the last ${kept} % is for others`}
    </li>
  );
}

/** The member of the descriptor, where members divide its limits. */
function MemberLine({ descriptor: { fair } }: { readonly descriptor: ExplainedDescriptor }) {
  if (fair === undefined) return null;
  const { entry, member, weight } = fair;
  return (
    <li>
      {member === undefined ? `No ${entry}` : `${entry} ${member}`} has the weight {weight} of a fair share
    </li>
  );
}

function CandidateLine({
  candidate: { file, line, key, value, reason },
  isWinner,
}: {
  readonly candidate: MatchCandidate;
  readonly isWinner: boolean;
}) {
  return (
    <li class={isWinner ? 'wins' : undefined}>
      <State kind={isWinner ? 'ok' : 'off'}>{isWinner ? 'wins' : 'loses'}</State> <code class="place">{`${file}:${line}`}</code> key {key}
      {value === undefined ? ' alone' : `, value ${value}`}: {reason}
    </li>
  );
}

function Buckets({ descriptor, buckets }: { readonly descriptor: ExplainedDescriptor; readonly buckets: readonly Bucket[] }) {
  const byKey = new Map(buckets.map((bucket) => [bucket.key, bucket]));
  if (descriptor.limits.length === 0) return null;
  return (
    <DataTable
      caption="Limits and buckets"
      rows={descriptor.limits}
      keyOf={({ bucket_key: key }) => key}
      empty="No limit applies."
      columns={[
        { head: 'Limit', isHead: true, cell: ({ name }) => (name === '' ? 'without a name' : name) },
        { head: 'Value', isNumber: true, cell: (limit) => showLimit(limit) },
        {
          head: 'Left',
          cell: ({ bucket_key: key, show }) => {
            const bucket = byKey.get(key);
            return bucket === undefined ? 'not read' : <LeftBar left={bucket.remaining} of={bucket.limit.capacity} form={show} />;
          },
        },
        {
          head: 'Full again',
          isNumber: true,
          cell: ({ bucket_key: key, unit }) => {
            if (unit === 'total') return 'never';
            const ms = byKey.get(key)?.reset_after_ms ?? 0;
            return ms === 0 ? 'now' : `in ${showDuration(ms)}`;
          },
        },
        { head: 'Bucket', cell: ({ bucket_key: key }) => <code>{key}</code> },
      ]}
    />
  );
}
