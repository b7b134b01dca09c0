/** Who is limited: the keys that are denied most, ask most, or are nearest to their limit. */

import { call, type Reply } from '../api/client';
import { isCut } from '../api/descriptor-text';
import { linkTo, place, replacePlace } from '../api/route';
import { NONE, showCount, showDuration, showLimit, showShare } from '../api/show';
import { useDomains } from '../api/use-domains';
import { usePoll } from '../api/use-poll';
import { DataTable } from '../parts/data-table';
import { DomainField } from '../parts/domain-field';
import { FailureNote } from '../parts/failure';
import { Field } from '../parts/field';

const EVERY_MS = 5_000;

const COUNT = 50;

const QUESTIONS = { denied: 'Denied most', asked: 'Ask most', near: 'Nearest to the limit' } as const;

type Question = keyof typeof QUESTIONS;

const MINUTES = [1, 10, 60] as const;

type Item = Reply<'listTopKeys'>['items'][number];

export function LimitedPage() {
  const { query } = place.value;
  const question = (Object.keys(QUESTIONS) as Question[]).find((each) => each === query.get('question')) ?? 'denied';
  const minutes = MINUTES.find((each) => String(each) === query.get('minutes')) ?? 10;
  const domain = query.get('domain') ?? '';
  const rule = query.get('rule') ?? '';
  const domains = useDomains();
  const { data, error } = usePoll(
    (signal) =>
      call(
        'listTopKeys',
        { query: { question, minutes, count: COUNT, ...(domain !== '' && { domain }), ...(rule !== '' && { rule }) } },
        { signal },
      ),
    { key: JSON.stringify([question, minutes, domain, rule]), everyMs: EVERY_MS },
  );
  const choose = (change: Readonly<Record<string, string>>): void => {
    const next = { question, minutes: String(minutes), domain, rule, ...change };
    replacePlace(linkTo('limited', Object.fromEntries(Object.entries(next).filter(([, value]) => value !== ''))));
  };
  const rules = domains.rules.filter((each) => domain === '' || each.domain === domain);
  return (
    <>
      <h1>Who is limited</h1>
      <form class="filters" aria-label="Which keys">
        <fieldset class="choice">
          <legend>Keys</legend>
          {(Object.keys(QUESTIONS) as Question[]).map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="question"
                checked={each === question}
                onChange={() => {
                  choose({ question: each });
                }}
              />
              {QUESTIONS[each]}
            </label>
          ))}
        </fieldset>
        <fieldset class="choice">
          <legend>Over</legend>
          {MINUTES.map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="minutes"
                checked={each === minutes}
                onChange={() => {
                  choose({ minutes: String(each) });
                }}
              />
              {each} min
            </label>
          ))}
        </fieldset>
        <DomainField
          domains={domains.names}
          value={domain}
          allowsAll
          onValue={(value) => {
            choose({ domain: value, rule: '' });
          }}
        />
        <Field
          label="Rule"
          control={(ids) => (
            <>
              <input
                {...ids}
                list="rules"
                value={rule}
                placeholder="all"
                onChange={({ currentTarget: { value } }) => {
                  choose({ rule: value });
                }}
              />
              <datalist id="rules">
                {rules.slice(0, 1_000).map((each) => (
                  <option key={`${each.domain} ${each.rule}`} value={each.rule} />
                ))}
              </datalist>
            </>
          )}
        />
      </form>
      <FailureNote error={error} />
      {data !== undefined && (
        <section aria-labelledby="keys">
          <h2 id="keys">
            {QUESTIONS[question]} <span class="muted">{coverage(data)}</span>
          </h2>
          <KeysTable question={question} top={data} />
          {data.unlisted_max > 0 && question !== 'near' && (
            <p class="muted">A key that is not listed has at most {showCount(data.unlisted_max)} hits.</p>
          )}
        </section>
      )}
    </>
  );
}

interface KeysTableProps {
  readonly question: Question;
  readonly top: Reply<'listTopKeys'>;
}

function KeysTable({ question, top }: KeysTableProps) {
  return (
    <DataTable
      caption={QUESTIONS[question]}
      hidesCaption
      rows={top.items}
      keyOf={(item) => `${item.domain} ${item.rule} ${item.entries}`}
      empty={question === 'near' ? 'No key came near its limit.' : `No key was ${question}.`}
      columns={[
        { head: 'No.', isNumber: true, cell: (_, index) => index + 1 },
        {
          head: 'Key',
          isHead: true,
          cell: ({ domain: inDomain, entries }) =>
            isCut(entries) ? entries : <a href={linkTo('tenant', { domain: inDomain, entries })}>{entries}</a>,
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
          ? [{ head: 'Used', isNumber: true, cell: (item: Item) => showShare(item.used_share) }]
          : [
              {
                head: 'Of all',
                isNumber: true,
                cell: (item: Item) => (top.total_hits === 0 ? NONE : showShare(item.count / top.total_hits)),
              },
            ]),
        { head: 'Left', isNumber: true, cell: (item) => showShare(item.remaining_share) },
        { head: 'Limit', cell: ({ limit }) => (limit === undefined ? NONE : `${limit.name} ${showLimit(limit)}`) },
      ]}
    />
  );
}

function coverage({ covered_ms: covered, instances, missing }: Reply<'listTopKeys'>): string {
  const of = `${instances} ${instances === 1 ? 'process' : 'processes'}`;
  return `over ${showDuration(covered)}, of ${of}${missing > 0 ? `, ${missing} missing` : ''}`;
}
