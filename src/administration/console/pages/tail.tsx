/** Live tail: a sample of the decisions of this instance as they are made, in a bounded number of rows. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Reply } from '../api/client';
import { showDescriptor, writeDescriptor } from '../api/descriptor-text';
import { ApiError } from '../api/problem';
import { linkTo } from '../api/route';
import { showCount, showHits, showLimit } from '../api/show';
import { followTail } from '../api/stream';
import { useDomains } from '../api/use-domains';
import { Choice } from '../parts/choice';
import { DataTable } from '../parts/data-table';
import { DomainField } from '../parts/filters/domain-field';
import { FailureNote } from '../parts/failure';
import { FilterForm } from '../parts/filters/filter-form';
import { TextField } from '../parts/text-field';
import { State } from '../parts/state';

type Sample = Reply<'tailDecisions'>;

interface Row {
  readonly number: number;
  readonly sample: Sample;
  readonly text: string;
}

/** Newer rows push older ones out. */
const ROWS_MAX = 200;

/** Samples of a second; the server counts the others. */
const PER_SECOND = 20;

/** From the end of a stream to the next one. */
const AGAIN_MS = 3_000;

/** The page is drawn this often at most. */
const DRAW_MS = 250;

const VERDICTS = [
  ['all', 'all'],
  ['denied', 'denied'],
  ['passed', 'passed'],
] as const;

type Verdict = (typeof VERDICTS)[number][0];

interface Seen {
  readonly rows: readonly Row[];
  /** Rows that newer ones pushed out. */
  readonly pushedOut: number;
  /** Decisions that matched and were never sent. */
  readonly skipped: number;
}

const NOTHING: Seen = { rows: [], pushedOut: 0, skipped: 0 };

export function TailPage() {
  const [filter, setFilter] = useState<Filter>({ domain: '', verdict: 'all', text: '' });
  const { domain, verdict, text } = filter;
  const [isOn, setIsOn] = useState(false);
  const { seen, state, error, clear } = useTail({
    isOn,
    domain,
    verdict,
    onEnd: () => {
      setIsOn(false);
    },
  });
  const wanted = text.trim().toLowerCase();
  const shown = useMemo(
    () => seen.rows.filter((row) => isVerdict(row.sample, verdict) && row.text.includes(wanted)),
    [seen.rows, verdict, wanted],
  );
  return (
    <>
      <h1>Live tail</h1>
      <Filters
        filter={filter}
        isOn={isOn}
        isEmpty={seen.rows.length === 0}
        onFilter={(change) => {
          setFilter({ ...filter, ...change });
        }}
        onSwitch={() => {
          setIsOn(!isOn);
        }}
        onClear={clear}
      />
      <FailureNote error={error} />
      <p role="status" class="said">
        <State kind={state === 'follows' ? 'ok' : 'off'}>{WORDS[state]}</State>
      </p>
      <p class="muted">{droppedText(seen, shown.length)}</p>
      <DecisionTable rows={shown} isOn={isOn} />
    </>
  );
}

/** Which decisions are shown. */
interface Filter {
  /** Empty: all domains. */
  readonly domain: string;
  readonly verdict: Verdict;
  readonly text: string;
}

interface FiltersProps {
  readonly filter: Filter;
  readonly isOn: boolean;
  readonly isEmpty: boolean;
  readonly onFilter: (change: Partial<Filter>) => void;
  readonly onSwitch: () => void;
  readonly onClear: () => void;
}

function Filters({ filter: { domain, verdict, text }, isOn, isEmpty, onFilter, onSwitch, onClear }: FiltersProps) {
  const { names } = useDomains();
  return (
    <FilterForm label="Which decisions">
      <DomainField
        domains={names}
        value={domain}
        allowsAll
        onValue={(value) => {
          onFilter({ domain: value });
        }}
      />
      <Choice
        legend="Verdict"
        name="verdict"
        choices={VERDICTS}
        value={verdict}
        onValue={(value) => {
          onFilter({ verdict: value });
        }}
      />
      <TextField
        label="Text"
        isSearch
        placeholder="in entries or rule"
        value={text}
        onValue={(value) => {
          onFilter({ text: value });
        }}
      />
      <button type="button" class="main" onClick={onSwitch}>
        {isOn ? 'Pause' : 'Start'}
      </button>
      <button type="button" onClick={onClear} disabled={isEmpty}>
        Clear
      </button>
    </FilterForm>
  );
}

function DecisionTable({ rows, isOn }: { readonly rows: Seen['rows']; readonly isOn: boolean }) {
  return (
    <DataTable
      caption="Decisions, the newest first"
      hidesCaption
      rows={rows}
      keyOf={({ number }) => String(number)}
      empty={isOn ? 'No decision like that yet.' : 'Choose Start to see decisions as they are made.'}
      columns={[
        { head: 'When', cell: ({ sample }) => <time dateTime={sample.at}>{CLOCK.format(new Date(sample.at))}</time> },
        { head: 'Verdict', cell: ({ sample }) => <VerdictOf sample={sample} /> },
        { head: 'Descriptors', isHead: true, cell: ({ sample }) => <Descriptors sample={sample} /> },
        { head: 'Domain', cell: ({ sample }) => sample.domain },
        { head: 'Process', isNumber: true, cell: ({ sample }) => sample.pid },
      ]}
    />
  );
}

type TailState = 'off' | 'opens' | 'follows' | 'waits';

const WORDS: Readonly<Record<TailState, string>> = {
  off: 'Paused: no decision is read.',
  opens: 'Opens the tail…',
  waits: 'Opens the tail again in a moment.',
  follows: `Follows this instance, at most ${PER_SECOND} decisions a second.`,
};

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

interface TailOptions {
  readonly isOn: boolean;
  readonly domain: string;
  readonly verdict: Verdict;
  readonly onEnd: () => void;
}

/** Follows the tail while it is on, and keeps what came last. */
function useTail({ isOn, domain, verdict, onEnd }: TailOptions) {
  const [seen, setSeen] = useState(NOTHING);
  const [state, setState] = useState<TailState>('off');
  const [error, setError] = useState<Error | undefined>(undefined);
  const number = useRef(0);
  const isDeniedOnly = verdict === 'denied';
  useEffect(() => {
    if (!isOn) return;
    const ended = new AbortController();
    let fresh: Sample[] = [];
    let dropped = 0;
    const draw = (): void => {
      if (fresh.length === 0 && dropped === 0) return;
      const rows = fresh.map((sample): Row => ({ sample, number: (number.current += 1), text: textOf(sample) })).reverse();
      const skipped = fresh.reduce((sum, sample) => sum + sample.skipped, dropped);
      [fresh, dropped] = [[], 0];
      setSeen((known) => withRows(known, { rows, skipped }));
    };
    const timer = setInterval(draw, DRAW_MS);
    const query = { per_second: PER_SECOND, ...(domain !== '' && { domain }), ...(isDeniedOnly && { denied: true }) };
    const follow = async (): Promise<void> => {
      // The server ends a stream after ten minutes, so that credentials are checked again.
      while (!ended.signal.aborted) {
        setState('opens');
        await followTail({ query }, ended.signal, {
          onOpen: () => {
            setError(undefined);
            setState('follows');
          },
          onEvent: (sample) => fresh.push(sample),
          onDropped: (count) => (dropped += count),
        }).catch(throwUnlessAway);
        setState('waits');
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    follow().catch((failure: unknown) => {
      if (ended.signal.aborted) return;
      setError(failure instanceof Error ? failure : new Error(String(failure)));
      onEnd();
    });
    return () => {
      ended.abort();
      clearInterval(timer);
      draw();
      setState('off');
    };
  }, [isOn, domain, isDeniedOnly]);
  return {
    seen,
    state,
    error,
    clear: () => {
      setSeen(NOTHING);
    },
  };
}

/** An API that is away is asked again, as the banner of the page says. */
function throwUnlessAway(error: unknown): void {
  if (!(error instanceof ApiError && error.failure === 'away')) throw error;
}

function withRows({ rows: known, pushedOut, skipped }: Seen, fresh: { readonly rows: readonly Row[]; readonly skipped: number }): Seen {
  const rows = [...fresh.rows, ...known];
  return {
    rows: rows.slice(0, ROWS_MAX),
    pushedOut: pushedOut + Math.max(0, rows.length - ROWS_MAX),
    skipped: skipped + fresh.skipped,
  };
}

function droppedText({ rows, pushedOut, skipped }: Seen, shown: number): string {
  const parts = [
    `${showCount(shown)} of ${showCount(rows.length)} rows`,
    skipped > 0 ? `${showCount(skipped)} more decisions came faster than ${PER_SECOND} a second, and are not here` : '',
    pushedOut > 0 ? `${showCount(pushedOut)} older rows were dropped, since the page keeps ${ROWS_MAX}` : '',
  ];
  return `${parts.filter((part) => part !== '').join('; ')}.`;
}

function isVerdict({ over_limit: isOver }: Sample, verdict: Verdict): boolean {
  return verdict === 'all' || (verdict === 'denied') === isOver;
}

/** The text that the filter searches. */
function textOf({ descriptors }: Sample): string {
  return descriptors
    .map(({ entries, rule = '' }) => `${showDescriptor(entries)} ${rule}`)
    .join(' ')
    .toLowerCase();
}

function VerdictOf({ sample: { over_limit: isOver, without } }: { readonly sample: Sample }) {
  return (
    <>
      <State kind={isOver ? 'bad' : 'ok'}>{isOver ? 'denied' : 'passed'}</State>
      {without !== undefined && <span class="muted"> {without === 'cached' ? 'from the deny cache' : 'without Redis'}</span>}
    </>
  );
}

function Descriptors({ sample: { domain, blocked: isBlocked = false, descriptors } }: { readonly sample: Sample }) {
  return (
    <ul class="limits">
      {descriptors.map((descriptor, index) => {
        const { entries, hits } = descriptor;
        return (
          <li key={index}>
            {entries.some(({ key, value }) => isCutText(key) || isCutText(value)) ? (
              showDescriptor(entries)
            ) : (
              <a href={linkTo('tenant', { domain, entries: writeDescriptor(entries) })}>{showDescriptor(entries)}</a>
            )}{' '}
            <span class="muted">
              {showCount(hits)} {hits === 1 ? 'hit' : 'hits'}, {outcomeOf(descriptor, isBlocked)}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** No limit counts a request that a block denies. */
function outcomeOf({ block, limit, remaining, over_limit: isOver }: Sample['descriptors'][number], isBlocked: boolean): string {
  if (block !== undefined) return `denied by the block ${block}`;
  if (isBlocked) return 'not counted';
  if (limit === undefined) return 'no limit';
  return isOver ? `over ${showLimit(limit)}` : `${showHits(remaining ?? 0, limit.show)} left of ${showLimit(limit)}`;
}

/** The tail shortens texts of over 256 characters. */
function isCutText(text: string): boolean {
  return text.length > 256 && text.endsWith('…');
}
