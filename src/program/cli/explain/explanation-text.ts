/** Formats an explanation as text. */

import { TRAITS } from '../../../domain/algorithm/algorithms';
import { RESERVATIONS } from '../../../configuration/compile/fields/reservations';
import { amountText } from '../../../lib/text/amount';
import type {
  DescriptorExplanation,
  Explanation,
  FairExplanation,
  ReserveExplanation,
  StageExplanation,
} from '../../../configuration/explain/explanation';
import type { ComparedDescriptor, LevelExplanation } from '../../../configuration/explain/explain-levels';
import type { LimitExplanation } from '../../../configuration/explain/explain-limit';

const { maxShare: MAX_SHARE, onLapse: ON_LAPSE } = RESERVATIONS.fields;

/** The text ends with a newline. */
export function formatExplanation({ domain, refused, descriptors }: Explanation): string {
  const blocks = descriptors.map((descriptor, index) => formatDescriptor(descriptor, `descriptor ${index + 1}`));
  const refusal = refused === undefined ? '' : `refused: ${refused}\n`;
  return `domain ${domain}\n${refusal}\n${blocks.join('\n')}`;
}

function formatDescriptor(descriptor: DescriptorExplanation, title: string): string {
  const { entries, levels, notLimited } = descriptor;
  const said = entries.map(({ key, value }) => `${key}=${value}`).join(', ');
  const lines = [`${title}: ${said}`, ...levels.flatMap(formatLevel)];
  if (notLimited !== undefined) lines.push(`  not limited: ${notLimited}`);
  lines.push(...formatOutcome(descriptor));
  return `${lines.join('\n')}\n`;
}

function formatLevel({ entry, winner, losers, omitted, otherKeys }: LevelExplanation): string[] {
  const lines = [`  ${entry.key}=${entry.value}`];
  if (winner !== undefined) lines.push(`    wins   ${formatCandidate(winner)}`);
  lines.push(...losers.map((loser) => `    loses  ${formatCandidate(loser)}`));
  if (omitted > 0) lines.push(`    and ${omitted} more with this key`);
  if (otherKeys > 0) lines.push(`    and ${otherKeys} with other keys`);
  return lines;
}

function formatCandidate({ file, line, key, value, reason }: ComparedDescriptor): string {
  const what = value === undefined ? `key ${key} alone` : `key ${key}, value ${value}`;
  return `${file}:${line}: ${what}: ${reason}`;
}

function formatOutcome({ plan, unlimited, limits, override, replaced, mode, stage, reserve, fair }: DescriptorExplanation): string[] {
  const title = override ? 'override of the request' : 'limit';
  const lines = unlimited
    ? ['  unlimited: allowed, not counted']
    : limits.flatMap((limit) => (TRAITS[limit.algorithm].holds === 'slots' ? formatInFlight(limit) : formatLimit(limit, title)));
  if (plan !== undefined) lines.unshift(`  plan ${plan}`);
  if (reserve !== undefined) lines.unshift(`  ${formatReserve(reserve)}`);
  if (fair !== undefined) lines.unshift(`  ${formatFair(fair)}`);
  if (stage !== undefined) lines.unshift(`  ${formatStage(stage)}`);
  const names = replaced.map((name) => (name === '' ? 'the unnamed limit' : name));
  if (names.length > 0) lines.push(`  replaced by ${override ? 'the override' : 'another limit of the request'}: ${names.join(', ')}`);
  if (limits.length > 0 && mode === 'shadow') lines.push('  shadow mode: counted, never denied');
  if (limits.length > 0 && mode === 'quota') lines.push('  quota mode: denied only together with every other descriptor of that mode');
  return lines;
}

function formatStage({ by, percent, part }: StageExplanation): string {
  const share = `the ${percent} % of ${by} that the candidate decides`;
  return part === 'candidate' ? `stage: in ${share}` : `stage: not in ${share}`;
}

function formatReserve({ entry, class: name, keptPercent }: ReserveExplanation): string {
  const who = name === undefined ? `no class of ${entry}` : `class ${name} of ${entry}`;
  return keptPercent === 0 ? `reserve: ${who}, may use all` : `reserve: ${who}, the last ${keptPercent} % is for others`;
}

function formatFair({ entry, member, weight }: FairExplanation): string {
  return `fair: ${member === undefined ? `no ${entry}` : `${entry} ${member}`}, weight ${weight}`;
}

function atOnceText(capacity: number, reserved: number | undefined): string {
  return reserved === undefined ? `${capacity} at once` : `${capacity} at once and ${reserved} reserved for others`;
}

function formatInFlight({ name, unitMultiplier, capacity, reserved, id, bucketKey }: LimitExplanation): string[] {
  const identity = id === undefined ? 'without an id' : `identified by ${id}`;
  return [
    `  requests in flight: ${atOnceText(capacity, reserved)}, each for ${unitMultiplier} s at most, ${identity}, named ${name}`,
    `  bucket: ${bucketKey}`,
  ];
}

function formatLimit(
  {
    name,
    requestsPerUnit,
    unit,
    unitMultiplier,
    algorithm,
    capacity,
    reserved,
    calendar,
    overdraftMax,
    reservations,
    responseBody,
    leases,
    show,
    pool,
    isShare,
    bucketKey,
    candidate,
  }: LimitExplanation,
  title: string,
): string[] {
  const window = unitMultiplier === 1 ? unit : `${unitMultiplier} ${unit}s`;
  const rate = `${requestsPerUnit} ${unit === 'total' ? 'in total, never refilled' : `per ${window}`}`;
  const parts = [`${isShare ? 'share' : title}: ${rate}`, algorithm, atOnceText(capacity, reserved)];
  if (show !== undefined) parts.push(`read as ${amountText(requestsPerUnit, show)}`);
  if (calendar !== undefined) parts.push(`by the calendar of ${calendar}`);
  if (overdraftMax !== undefined) parts.push(`usage reports may take it ${overdraftMax} below zero`);
  if (reservations !== undefined)
    parts.push(`${reservations.hitsMax} reservable (${MAX_SHARE.name} ${reservations.maxShare}, ${ON_LAPSE.name} ${reservations.onLapse})`);
  if (name !== '') parts.push(`named ${name}`);
  if (pool !== undefined) parts.push(`in the pool of ${pool}`);
  if (responseBody !== undefined) parts.push(`body ${responseBody}`);
  if (leases !== undefined) parts.push(`leases ${leases}`);
  const tried = candidate === undefined ? [] : formatLimit(candidate, 'candidate, never denied');
  return [`  ${parts.join(', ')}`, `  bucket: ${bucketKey}`, ...tried];
}
