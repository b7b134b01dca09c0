/** `weir rollout`: puts a candidate in force for a part of its requests, and takes it back. */

import type { RolloutPart, RolloutStatus } from '../../../administration/admin-client/operations';
import { AdminError } from '../admin/admin-error';
import type { AdminClient, Preconditions } from '../admin/admin-client';
import { UsageError } from '../usage-error';
import { action, type ActionCall, type ControlCommand, type ControlOptions, type Values } from './control-command';
import { changeOptions, readChange } from './record-command';
import { showLimit } from './values/limit-text';
import { fieldList, textTable } from './values/text-table';
import { showTime } from './values/until';

const OVERRIDE = 'override/';

const OPERAND = { form: 'RULE' } as const;

const START_OPTIONS = {
  ...changeOptions,
  percent: { type: 'string', form: 'N', required: true, help: 'share of the values that the candidate decides, from 0 to 100' },
  by: { type: 'string', form: 'KEY', help: 'key whose values are in the stage or not (default: as before, or as the configuration says)' },
  'denied-above': { type: 'string', form: 'N%', help: 'take it back if more of its hits are denied; with --for' },
  for: { type: 'string', form: 'TIME', help: 'time over which the denied share is measured, such as 5m' },
} as const;

const STEP_OPTIONS = { ...changeOptions, percent: START_OPTIONS.percent } as const;

/** The values of a rollout, as bodies have them. */
interface RolloutBody {
  readonly by?: string;
  readonly percent: number;
  readonly stop_if?: { readonly denied_above: string; readonly for: string };
  readonly stopped?: boolean;
}

interface Change extends Pick<ActionCall<ControlOptions>, 'admin' | 'print' | 'warn'> {
  readonly rule: string;
  readonly values: Values<typeof changeOptions>;
  /** The new values: those that it leaves out stay. */
  readonly next: RolloutBody;
  /** The word for what was done. */
  readonly done: string;
  /** Refuses a rollout that was taken back. */
  readonly mustGoOn?: boolean;
}

export const rollout: ControlCommand = {
  name: 'rollout',
  actions: [
    action({
      name: 'status',
      purpose: 'Shows the rollouts, with the denied share of both parts over all instances.',
      options: {
        domain: { type: 'string', form: 'DOMAIN', help: 'only those of this domain' },
        rule: { type: 'string', form: 'RULE', help: 'only this one, with the keys that the candidate denies' },
      },
      run: async ({ admin, values: { domain, rule }, nowMs, print }) => {
        const query = { ...(domain !== undefined && { domain }), ...(rule !== undefined && { rule }) };
        const { items } = await admin.call('listRolloutStatus', { query });
        const keys = rule === undefined ? undefined : await deniedKeys(admin, query);
        print({ items, ...(keys && { denied_keys: keys }) }, () => statusText(items, { nowMs, keys }));
      },
    }),
    action({
      name: 'start',
      purpose: 'Begins a rollout, or begins it again after it was taken back.',
      operand: OPERAND,
      options: START_OPTIONS,
      run: ({ values, operand: rule, ...call }) => {
        const { by, for: time, 'denied-above': share } = values;
        if ((time === undefined) !== (share === undefined)) throw new UsageError('--denied-above and --for make one guard; give both');
        const guard = share !== undefined && time !== undefined && { stop_if: { denied_above: share, for: time } };
        const next = { percent: readPercent(values.percent), ...(by !== undefined && { by }), ...guard };
        return change({ ...call, rule, values, next, done: 'started' });
      },
    }),
    action({
      name: 'step',
      purpose: 'Changes the share of a rollout; more percent keep the values that are in.',
      operand: OPERAND,
      options: STEP_OPTIONS,
      run: ({ values, operand: rule, ...call }) =>
        change({ ...call, rule, values, next: { percent: readPercent(values.percent) }, done: 'changed', mustGoOn: true }),
    }),
    action({
      name: 'stop',
      purpose: 'Takes a rollout back: the limit is in force for all again, within a second everywhere.',
      operand: OPERAND,
      options: changeOptions,
      run: ({ values, operand: rule, ...call }) =>
        change({ ...call, rule, values, next: { percent: 0, stopped: true }, done: 'taken back' }),
    }),
    action({
      name: 'delete',
      purpose: 'Removes the record of a rollout, so that the values of the configuration are in force.',
      operand: OPERAND,
      options: changeOptions,
      run: async ({ admin, values, operand: rule, print, warn }) => {
        const { domain, query: checks, reason, conditions } = readChange(values);
        const query = { ...checks, ...(reason !== undefined && { reason }) };
        const reply = await admin.call('deleteRollout', { params: { domain, rule }, query }, conditions);
        print(reply, () => `Rollout ${domain}/${rule} ${reply.dry_run ? 'would be ' : ''}deleted.`);
        warn(reply.warnings);
      },
    }),
  ],
};

/** @throws UsageError */
function readPercent(text: string): number {
  const percent = /^\d{1,3}(?:\.\d{1,2})?$/.test(text) ? Number(text) : NaN;
  if (percent <= 100) return percent;
  throw new UsageError(`--percent: ${JSON.stringify(text)} is not accepted; give a number from 0 to 100 with at most two decimals`);
}

/** Writes at the version that it has read, so that of two operators at once the second is refused. */
async function change({ admin, rule, values, next, done, mustGoOn = false, print, warn }: Change): Promise<void> {
  const { domain, query, reason, conditions: asked } = readChange(values);
  const { items } = await admin.call('listRolloutStatus', { query: { domain, rule } });
  const [found] = items;
  if (mustGoOn && found === undefined)
    throw new AdminError(`there is no rollout ${rule} in the domain ${domain}; weir rollout start begins one`);
  if (mustGoOn && found?.stopped === true) throw new AdminError('the rollout was taken back; weir rollout start begins it again');
  const conditions = asked.ifMatch === undefined ? conditionsOf(found) : asked;
  const note = reason === undefined ? {} : { reason };
  const reply = await (rule.startsWith(OVERRIDE)
    ? writeOverride(admin, { domain, id: rule.slice(OVERRIDE.length), next, query, note, conditions })
    : writeRollout(admin, { domain, rule, next, query, note, conditions, hasRecord: found?.source === 'rollout' }));
  print(reply, () => {
    const { dry_run: isDry, version } = reply;
    const head = `Rollout ${domain}/${rule} ${isDry ? `would be ${done}` : done}: ${found?.percent ?? 0} % -> ${next.percent} %`;
    return version === undefined ? `Dry run: ${head}.` : `${head}, version ${version}.`;
  });
  warn(reply.warnings);
}

function conditionsOf(found: RolloutStatus | undefined): Preconditions {
  return found === undefined || found.version === 0 ? { ifNoneMatch: '*' } : { ifMatch: `"${found.version}"` };
}

interface Write {
  readonly domain: string;
  readonly next: RolloutBody;
  readonly query: ReturnType<typeof readChange>['query'];
  readonly note: { readonly reason?: string };
  readonly conditions: Preconditions;
}

async function writeRollout(admin: AdminClient, input: Write & { readonly rule: string; readonly hasRecord: boolean }) {
  const { domain, rule, next, query, note, conditions, hasRecord } = input;
  const params = { domain, rule };
  const { by, stop_if: stopIf } = hasRecord ? await admin.call('getRollout', { params }) : {};
  const body = { ...(by !== undefined && { by }), ...(stopIf && { stop_if: stopIf }), ...next, ...note };
  return admin.call('putRollout', { params, query, body }, conditions);
}

async function writeOverride(admin: AdminClient, { domain, id, next, query, note, conditions }: Write & { readonly id: string }) {
  const params = { domain, id };
  const { entries, limit, candidate, until, reason, rollout: before } = await admin.call('getOverride', { params });
  if (candidate !== true) throw new AdminError(`the override ${id} is not a candidate: it is in force for all`);
  const by = next.by ?? before?.by;
  if (by === undefined) throw new UsageError('--by: name the key whose values are in the stage or not');
  const { stop_if: stopIf } = before ?? {};
  const values = { ...(stopIf && { stop_if: stopIf }), ...next, by };
  const kept = { ...(until !== undefined && { until }), ...(reason !== undefined && { reason }) };
  const body = { entries, limit, candidate, rollout: values, ...kept, ...note };
  // An override without a rollout has no status, so its version is not known: the write requires none.
  return admin.call('putOverride', { params, query, body }, before === undefined && conditions.ifNoneMatch ? {} : conditions);
}

interface DeniedKey {
  readonly entries: string;
  readonly count: number;
}

/** Undefined: top keys are off. */
async function deniedKeys(
  admin: AdminClient,
  query: { readonly domain?: string; readonly rule?: string },
): Promise<readonly DeniedKey[] | undefined> {
  const { domain, rule = '' } = query;
  const ofRule = rule.startsWith(OVERRIDE) || rule.startsWith('plan/') ? {} : { rule };
  try {
    const { items } = await admin.call('listTopKeys', {
      query: { question: 'candidate_denied', minutes: 10, count: 10, ...(domain !== undefined && { domain }), ...ofRule },
    });
    return items.map(({ entries, count }) => ({ entries, count }));
  } catch (error) {
    if (error instanceof AdminError) return undefined;
    throw error;
  }
}

interface StatusParts {
  readonly nowMs: number;
  /** Undefined: not asked, or top keys are off. */
  readonly keys: readonly DeniedKey[] | undefined;
}

function statusText(items: readonly RolloutStatus[], { nowMs, keys }: StatusParts): string {
  const [only, ...others] = items;
  if (only === undefined) return 'There are none.';
  if (others.length === 0) return `${oneText(only, nowMs)}${keysText(keys)}`;
  return textTable(
    ['DOMAIN', 'RULE', 'BY', 'PERCENT', 'STATE', 'CANDIDATE DENIED', 'CURRENT DENIED', 'VERSION'],
    items.map((item) => [
      item.domain,
      item.rule,
      item.by,
      item.percent,
      stateOf(item),
      partText(item.candidate),
      partText(item.current),
      item.version,
    ]),
  );
}

function oneText(item: RolloutStatus, nowMs: number): string {
  const { stop_if: stopIf, changed_at: changedAt, since } = item;
  const limits = item.limits.map(
    ({ current, candidate }) => `${current === undefined ? '' : `${showLimit(current)} -> `}${showLimit(candidate)}`,
  );
  return fieldList([
    ['domain', item.domain],
    ['rule', item.rule],
    ['limits', limits.join(', ')],
    ['stage', `${item.percent} % of ${item.by}, ${stateOf(item)}`],
    ['guard', stopIf === undefined ? 'none' : `denied above ${stopIf.denied_above} for ${stopIf.for}`],
    ['candidate denied', partText(item.candidate)],
    ['current denied', partText(item.current)],
    ['counted since', since === undefined ? undefined : showTime(since, nowMs)],
    ['from', item.source],
    ['reason', item.reason],
    ['author', item.author],
    ['changed', changedAt === undefined ? undefined : showTime(changedAt, nowMs)],
    ['version', item.version === 0 ? undefined : item.version],
  ]);
}

function keysText(keys: readonly DeniedKey[] | undefined): string {
  if (keys === undefined) return '';
  if (keys.length === 0) return '\n\nThe candidate denied no key in the last 10 minutes.';
  return `\n\n${textTable(
    ['DENIED BY THE CANDIDATE', 'HITS'],
    keys.map(({ entries, count }) => [entries, count]),
  )}`;
}

function stateOf({ stopped, percent }: RolloutStatus): string {
  if (stopped) return 'taken back';
  return percent === 0 ? 'only counted' : percent === 100 ? 'in force' : 'in stages';
}

function partText({ hits, share, low, high }: RolloutPart): string {
  if (hits === 0) return 'no hits';
  return `${percentText(share)} of ${hits} (${percentText(low)} to ${percentText(high)})`;
}

function percentText(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
