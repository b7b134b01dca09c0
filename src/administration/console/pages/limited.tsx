/** Who is limited: the keys that are denied most, ask most, or are nearest to their limit. */

import { call, type Reply } from '../api/client';
import { isCut } from '../api/descriptor-text';
import { linkTo, place, replacePlace } from '../api/route';
import { NONE, showCount, showDuration, showLimit } from '../api/show';
import { useDomains } from '../api/use-domains';
import { usePoll } from '../api/use-poll';
import { Choice } from '../parts/choice';
import { DataTable } from '../parts/data-table';
import { DomainField } from '../parts/filters/domain-field';
import { FailureNote } from '../parts/failure';
import { ShareBar } from '../parts/share-bar';
import { Sparkline } from '../parts/sparkline';
import { StackedKeys } from '../parts/stacked-keys';
import { TextField } from '../parts/text-field';

const EVERY_MS = 5_000;

const HISTORY_MS = 30_000;

const COUNT = 50;

/** More keys than are shown, because the order of ten minutes may differ from that of an hour. */
const HISTORY_COUNT = 100;

const QUESTIONS = { denied: 'Denied most', asked: 'Ask most', near: 'Nearest to the limit' } as const;

type Question = keyof typeof QUESTIONS;

const MINUTES = [1, 10, 60] as const;

type Item = Reply<'listTopKeys'>['items'][number];

/** The filters in the address; an empty text filters nothing. */
interface Asked {
  readonly question: Question;
  readonly minutes: (typeof MINUTES)[number];
  readonly domain: string;
  readonly rule: string;
}

function askedOf({ query }: typeof place.value): Asked {
  return {
    question: (Object.keys(QUESTIONS) as Question[]).find((each) => each === query.get('question')) ?? 'denied',
    minutes: MINUTES.find((each) => String(each) === query.get('minutes')) ?? 10,
    domain: query.get('domain') ?? '',
    rule: query.get('rule') ?? '',
  };
}

export function LimitedPage() {
  const asked = askedOf(place.value);
  const { question, minutes, domain, rule } = asked;
  const filter = { ...(domain !== '' && { domain }), ...(rule !== '' && { rule }) };
  const { data, error } = usePoll((signal) => call('listTopKeys', { query: { question, minutes, count: COUNT, ...filter } }, { signal }), {
    key: JSON.stringify([question, minutes, domain, rule]),
    everyMs: EVERY_MS,
  });
  const ofHistory = question === 'denied' ? 'denied' : 'asked';
  const history = usePoll(
    (signal) => call('listKeyHistory', { query: { question: ofHistory, count: HISTORY_COUNT, ...filter } }, { signal }),
    { key: JSON.stringify([ofHistory, filter]), everyMs: HISTORY_MS },
  );
  return (
    <>
      <h1>Who is limited</h1>
      <Filters asked={asked} />
      <FailureNote error={error ?? history.error} />
      {history.data !== undefined && question !== 'near' && (
        <section aria-label="By minute">
          <StackedKeys title={question === 'denied' ? 'Hits denied by minute' : 'Hits asked by minute'} history={history.data} />
        </section>
      )}
      {data !== undefined && (
        <section aria-labelledby="keys">
          <h2 id="keys">
            {QUESTIONS[question]} <span class="muted">{coverage(data)}</span>
          </h2>
          <KeysTable question={question} top={data} history={history.data} />
          {data.unlisted_max > 0 && question !== 'near' && (
            <p class="muted">A key that is not listed has at most {showCount(data.unlisted_max)} hits.</p>
          )}
        </section>
      )}
    </>
  );
}

/** A choice changes the address, and with it the page. */
function Filters({ asked }: { readonly asked: Asked }) {
  const { question, minutes, domain, rule } = asked;
  const domains = useDomains();
  const rules = domains.rules.filter((each) => domain === '' || each.domain === domain);
  const choose = (change: Readonly<Record<string, string>>): void => {
    const next = { question, minutes: String(minutes), domain, rule, ...change };
    replacePlace(linkTo('limited', Object.fromEntries(Object.entries(next).filter(([, value]) => value !== ''))));
  };
  return (
    <form class="filters" aria-label="Which keys">
      <Choice
        legend="Keys"
        name="question"
        choices={Object.entries(QUESTIONS) as [Question, string][]}
        value={question}
        onValue={(value) => {
          choose({ question: value });
        }}
      />
      <Choice
        legend="Over"
        name="minutes"
        choices={MINUTES.map((each) => [String(each), `${each} min`] as const)}
        value={String(minutes)}
        onValue={(value) => {
          choose({ minutes: value });
        }}
      />
      <DomainField
        domains={domains.names}
        value={domain}
        allowsAll
        onValue={(value) => {
          choose({ domain: value, rule: '' });
        }}
      />
      <TextField
        label="Rule"
        list="rules"
        placeholder="all"
        isWhole
        value={rule}
        onValue={(value) => {
          choose({ rule: value });
        }}
      />
      <datalist id="rules">
        {rules.slice(0, 1_000).map((each) => (
          <option key={`${each.domain} ${each.rule}`} value={each.rule} />
        ))}
      </datalist>
    </form>
  );
}

interface KeysTableProps {
  readonly question: Question;
  readonly top: Reply<'listTopKeys'>;
  readonly history: Reply<'listKeyHistory'> | undefined;
}

function KeysTable({ question, top, history }: KeysTableProps) {
  const times = (history?.at ?? []).map((at) => Date.parse(at) / 1_000);
  const hitsOf = new Map((history?.items ?? []).map((item) => [idOf(item), item.hits]));
  return (
    <DataTable
      caption={QUESTIONS[question]}
      hidesCaption
      rows={top.items}
      keyOf={idOf}
      empty={question === 'near' ? 'No key came near its limit.' : `No key was ${question}.`}
      columns={[
        { head: 'No.', isNumber: true, cell: (_, index) => index + 1 },
        {
          head: 'Key',
          isHead: true,
          cell: ({ domain: inDomain, entries }) =>
            isCut(entries) ? entries : <a href={linkTo('tenant', { domain: inDomain, entries })}>{entries}</a>,
        },
        {
          head: 'Last hour',
          cell: (item) => {
            const values = hitsOf.get(idOf(item));
            const kind = question === 'denied' ? 'denied' : 'asked';
            return values === undefined ? (
              NONE
            ) : (
              <Sparkline times={times} lines={[{ name: kind, kind, values }]} show={showCount} per="in a minute" />
            );
          },
        },
        { head: 'Rule', cell: (item) => <code>{item.rule}</code> },
        { head: 'Domain', cell: (item) => item.domain },
        {
          head: question === 'near' ? 'Hits near' : 'Hits',
          isNumber: true,
          cell: ({ count, error: tooHigh }) => (
            <>
              {showCount(count)}
              {tooHigh > 0 && <span class="muted"> −{showCount(tooHigh)}</span>}
            </>
          ),
        },
        ...(question === 'near'
          ? [{ head: 'Used', cell: (item: Item) => <ShareBar share={item.used_share} isBad={(item.used_share ?? 0) > 0.9} /> }]
          : [
              {
                head: 'Of all',
                cell: (item: Item) => <ShareBar share={top.total_hits === 0 ? undefined : item.count / top.total_hits} />,
              },
            ]),
        { head: 'Left', cell: ({ remaining_share: left }) => <ShareBar share={left} isBad={left !== undefined && left < 0.1} /> },
        { head: 'Limit', cell: ({ limit }) => limitText(limit) },
      ]}
    />
  );
}

function idOf({ domain, rule, entries }: Pick<Item, 'domain' | 'rule' | 'entries'>): string {
  return JSON.stringify([domain, rule, entries]);
}

function limitText(limit: Item['limit']): string {
  if (limit === undefined) return NONE;
  // A block denies as a limit of nothing with this name.
  if (limit.name === 'block' && limit.requests_per_unit === 0) return 'a block';
  return `${limit.name} ${showLimit(limit)}`;
}

function coverage({ covered_ms: covered, instances, missing }: Reply<'listTopKeys'>): string {
  const of = `${instances} ${instances === 1 ? 'process' : 'processes'}`;
  return `over ${showDuration(covered)}, of ${of}${missing > 0 ? `, ${missing} missing` : ''}`;
}
