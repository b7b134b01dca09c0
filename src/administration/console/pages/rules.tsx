/** The rules in force as the configuration has them, with live counts, warnings, and rules that nobody matches. */

import { useMemo, useState } from 'preact/hooks';
import { call, type Reply } from '../api/client';
import { linkTo, place } from '../api/route';
import { NONE, showCount, showLimit, showRate } from '../api/show';
import { useRules, type Rule } from '../api/use-domains';
import { usePoll } from '../api/use-poll';
import { DataTable } from '../parts/data-table';
import { FailureNote } from '../parts/failure';
import { ChoiceField } from '../parts/filters/choice-field';
import { FilterForm } from '../parts/filters/filter-form';
import { TextField } from '../parts/text-field';
import { Sparkline } from '../parts/sparkline';
import { State } from '../parts/state';

const LIVE_MS = 10_000;

const HISTORY_MS = 30_000;

const HISTORY_COUNT = 200;

const RULES_MAX = 10_000;

const PAGE = 100;

type LiveRule = Reply<'getLive'>['rules'][number];

const SHOWN = { all: 'all rules', denying: 'that denied', shadow: 'in shadow mode', unmatched: 'without a match' } as const;

/** Deeper rules are indented no further. */
const DEPTH_MAX = 6;

type Shown = keyof typeof SHOWN;

export function RulesPage() {
  const rules = useRules();
  const live = usePoll((signal) => call('getLive', { query: { rules: RULES_MAX } }, { signal }), { key: 'live', everyMs: LIVE_MS });
  const history = usePoll((signal) => call('listRuleHistory', { query: { count: HISTORY_COUNT } }, { signal }), {
    key: 'history',
    everyMs: HISTORY_MS,
  });
  const [text, setText] = useState(place.value.query.get('find') ?? '');
  const [shown, setShown] = useState<Shown>('all');
  const [page, setPage] = useState(0);
  const counts = useMemo(() => new Map((live.data?.rules ?? []).map((each) => [`${each.domain} ${each.rule}`, each])), [live.data]);
  const countsOf = ({ domain, rule }: Rule) => counts.get(`${domain} ${rule}`);
  const isShown = (rule: Rule): boolean => {
    const count = countsOf(rule);
    return (
      hasText(rule, text.toLowerCase()) &&
      isOf(shown, rule, { denied: count?.denied ?? 0, isUnmatched: live.data !== undefined && count === undefined })
    );
  };
  const all = useMemo(() => [...(rules.data?.items ?? [])].sort(inFileOrder), [rules.data]);
  const found = all.filter(isShown);
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const at = Math.min(page, pages - 1);
  const begin = at * PAGE;
  return (
    <>
      <h1>Rules</h1>
      <FailureNote error={rules.error ?? live.error ?? history.error} />
      {rules.data !== undefined && (
        <Warnings generation={rules.data.generation} warnings={rules.data.warnings} refused={rules.data.refused} />
      )}
      <Filters
        text={text}
        shown={shown}
        found={found.length}
        of={all.length}
        onText={(value) => {
          setText(value);
          setPage(0);
        }}
        onShown={(value) => {
          setShown(value);
          setPage(0);
        }}
      />
      {rules.data !== undefined && <RulesTable rules={found.slice(begin, begin + PAGE)} countsOf={countsOf} history={history.data} />}
      <Pager at={at} pages={pages} onPage={setPage} />
      <p class="muted">
        Counts are those of this instance since its start. A rule without a count matched nobody since then. The last hour shows hits asked
        and, before them, hits denied by minute, of the {HISTORY_COUNT} rules with most.
      </p>
    </>
  );
}

function hasText({ domain, rule, limits }: Rule, wanted: string): boolean {
  return wanted === '' || `${domain} ${rule} ${limits.map(({ name }) => name).join(' ')}`.toLowerCase().includes(wanted);
}

function isOf(shown: Shown, rule: Rule, { denied, isUnmatched }: { readonly denied: number; readonly isUnmatched: boolean }): boolean {
  if (shown === 'denying') return denied > 0;
  if (shown === 'shadow') return rule.shadow_mode;
  return shown === 'all' || isUnmatched;
}

interface FiltersProps {
  readonly text: string;
  readonly shown: Shown;
  /** Rules that are shown, of all. */
  readonly found: number;
  readonly of: number;
  readonly onText: (text: string) => void;
  readonly onShown: (shown: Shown) => void;
}

function Filters({ text, shown, found, of, onText, onShown }: FiltersProps) {
  return (
    <FilterForm>
      <TextField label="Find" isSearch placeholder="rule, domain or limit" value={text} onValue={onText} />
      <ChoiceField
        label="Show"
        choices={Object.entries(SHOWN)}
        value={shown}
        onValue={(value) => {
          onShown((Object.keys(SHOWN) as Shown[]).find((each) => each === value) ?? 'all');
        }}
      />
      <p class="count" role="status">
        {showCount(found)} of {showCount(of)} rules
      </p>
    </FilterForm>
  );
}

function Pager({ at, pages, onPage }: { readonly at: number; readonly pages: number; readonly onPage: (page: number) => void }) {
  if (pages === 1) return null;
  return (
    <nav class="pager" aria-label="Pages of rules">
      <button
        type="button"
        disabled={at === 0}
        onClick={() => {
          onPage(at - 1);
        }}
      >
        Previous
      </button>
      <span>
        Page {at + 1} of {pages}
      </span>
      <button
        type="button"
        disabled={at === pages - 1}
        onClick={() => {
          onPage(at + 1);
        }}
      >
        Next
      </button>
    </nav>
  );
}

interface RulesTableProps {
  readonly rules: readonly Rule[];
  readonly countsOf: (rule: Rule) => LiveRule | undefined;
  readonly history: Reply<'listRuleHistory'> | undefined;
}

function RulesTable({ rules, countsOf, history }: RulesTableProps) {
  const times = (history?.at ?? []).map((at) => Date.parse(at) / 1_000);
  const pasts = new Map((history?.items ?? []).map((each) => [`${each.domain} ${each.rule}`, each]));
  return (
    <DataTable
      caption="Rules in force"
      hidesCaption
      rows={rules}
      keyOf={({ domain, rule }, index) => `${domain} ${rule} ${index}`}
      empty="No rule matches."
      columns={[
        { head: 'Rule', isHead: true, cell: (rule) => <RulePath rule={rule} /> },
        { head: 'Limits', cell: (rule) => <LimitTexts rule={rule} /> },
        { head: 'Mode', cell: (rule) => modeOf(rule) },
        {
          head: 'Last hour',
          cell: ({ domain, rule }) => {
            const past = pasts.get(`${domain} ${rule}`);
            if (past === undefined) return NONE;
            const lines = [
              { name: 'asked', kind: 'asked', values: past.asked },
              { name: 'denied', kind: 'denied', values: past.denied },
            ] as const;
            return <Sparkline times={times} lines={lines} show={showCount} per="in a minute" />;
          },
        },
        {
          head: 'Asked/s',
          isNumber: true,
          cell: (rule) => (countsOf(rule) === undefined ? NONE : showRate(countsOf(rule)?.asked_per_s)),
        },
        { head: 'Asked', isNumber: true, cell: (rule) => showCount(countsOf(rule)?.asked) },
        { head: 'Denied', isNumber: true, cell: (rule) => deniedOf(rule, countsOf(rule)) },
        { head: 'Near', isNumber: true, cell: (rule) => showCount(countsOf(rule)?.near) },
        {
          head: 'Line',
          cell: ({ file, line }) =>
            file === undefined ? NONE : <code class="place">{line === undefined ? file : `${file}:${line}`}</code>,
        },
        {
          head: 'Who',
          cell: ({ domain, rule }) => (
            <a href={linkTo('limited', { domain, rule })} aria-label={`Who is limited by ${rule}`}>
              Who
            </a>
          ),
        },
      ]}
    />
  );
}

/** As the files declare them, so that a rule follows its parent. */
function inFileOrder(one: Rule, other: Rule): number {
  return (one.file ?? '').localeCompare(other.file ?? '') || (one.line ?? 0) - (other.line ?? 0);
}

interface WarningsProps {
  readonly generation: number;
  readonly warnings: readonly string[];
  readonly refused: readonly string[];
}

function Warnings({ generation, warnings, refused }: WarningsProps) {
  return (
    <section aria-label="Configuration">
      <p>
        Configuration generation <b>{generation}</b> is in force.{' '}
        {refused.length > 0 ? (
          <State kind="bad">A newer one was rejected.</State>
        ) : (
          warnings.length === 0 && <State kind="ok">It has no warnings.</State>
        )}
      </p>
      {refused.length > 0 && <Texts texts={refused} />}
      {warnings.length > 0 && (
        <details>
          <summary>
            <State kind="warn">
              {warnings.length} {warnings.length === 1 ? 'warning' : 'warnings'} of weir check
            </State>
          </summary>
          <Texts texts={warnings} />
        </details>
      )}
    </section>
  );
}

function Texts({ texts }: { readonly texts: readonly string[] }) {
  return (
    <ul class="texts">
      {texts.map((text) => (
        <li key={text}>
          <code>{text}</code>
        </li>
      ))}
    </ul>
  );
}

/** Indented by its depth, so that the tree of the file shows. */
function RulePath({ rule: { rule, domain, depth } }: { readonly rule: Rule }) {
  return (
    <span class="path" style={{ paddingInlineStart: `${Math.min(depth - 1, DEPTH_MAX) * 14}px` }}>
      <span class="muted">{domain}</span> <code>{rule}</code>
    </span>
  );
}

function LimitTexts({ rule: { limits, unlimited, tenants } }: { readonly rule: Rule }) {
  if (unlimited) return <>unlimited</>;
  if (limits.length === 0) return <>none</>;
  return (
    <ul class="limits">
      {limits.map((limit, index) => (
        <li key={`${limit.name} ${index}`}>
          {showLimit(limit)}{' '}
          <span class="muted">{[limit.name, limit.algorithm, tenants ? 'default plan' : ''].filter((each) => each !== '').join(', ')}</span>
        </li>
      ))}
    </ul>
  );
}

function modeOf({ shadow_mode: isShadow, quota_mode: isQuota }: Rule): string {
  return [isShadow ? 'shadow' : '', isQuota ? 'quota' : ''].filter((each) => each !== '').join(', ') || 'enforced';
}

interface Counts {
  readonly denied: number;
  readonly would_deny: number;
}

function deniedOf({ shadow_mode: isShadow }: Rule, counts: Counts | undefined): string {
  if (counts === undefined) return NONE;
  return isShadow ? `would ${showCount(counts.would_deny)}` : showCount(counts.denied);
}
