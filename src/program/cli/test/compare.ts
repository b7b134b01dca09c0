/** Compares the answer to a request with what its test expects. */

import { durationText } from './file/virtual-time';
import { toByteString, toText } from '../../../domain/descriptor/byte-string';
import { decidingDescriptor } from '../../../domain/decide/deciding-descriptor';
import { shownRemaining, toSecondsUp, type CandidateVerdict, type DescriptorStatus } from '../../../domain/decide/decision';
import { denialsOf } from '../../../domain/respond/decided/denials';
import { retryAfterS, waitUsOf } from '../../../domain/respond/decided/wait';
import type { Match } from '../../../domain/rule/match';
import { rateText } from '../../../domain/rule/limit';
import { US_PER_S } from '../../../lib/time-units';
import type { Answer } from './answer';
import type { Expectation, StatusExpectation, StepExpectation } from './file/test-file';

/** A field that does not agree. */
export interface Difference {
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
}

interface Shown {
  readonly domain: string;
  readonly status: DescriptorStatus;
  readonly match: Match;
  readonly candidate: string;
}

/** The differences of one answer; empty if it is as expected. Counts of repetitions are compared by the caller. */
export function compare(answer: Answer, expect: Expectation): readonly Difference[] {
  const { code, decided } = answer;
  const shown = shownOf(decided);
  const differences = expect.code === undefined ? [] : differ('code', expect.code, code);
  differences.push(
    ...compareStatus(
      shown[decidingDescriptor(shown.map(({ status }) => status))],
      { ...expect, code: undefined, candidate: undefined },
      '',
    ),
  );
  if (expect.candidate !== undefined) differences.push(...differ('candidate', expect.candidate, candidateOf(decided?.decision.candidates)));
  if (expect.retryAfterUs !== undefined)
    differences.push(...compareWait(expect.retryAfterUs, decided === undefined ? [] : denialsOf(decided)));
  for (const [name, value] of expect.headers ?? []) {
    const header = decided?.decision.headers?.find((each) => each.name.toLowerCase() === name);
    differences.push(...differ(`headers.${name}`, value ?? 'absent', header?.value ?? 'absent'));
  }
  if (expect.statuses !== undefined) {
    differences.push(...differ('statuses', `${expect.statuses.length} statuses`, `${shown.length} statuses`));
    for (const [index, status] of expect.statuses.entries())
      differences.push(...compareStatus(shown[index], status, `statuses[${index}].`));
  }
  differences.push(...compareStep(expect, answer));
  return differences;
}

/** The answer in words, a line for each descriptor. */
export function answerLines({ code, message, decided, ...facts }: Answer): readonly string[] {
  const said = STEP_FACTS.flatMap((name) => (facts[name] === undefined ? [] : [`, ${name} ${String(facts[name])}`]));
  return [
    `answer: ${code}${message === undefined ? '' : `: ${message}`}${said.join('')}`,
    ...shownOf(decided).map(({ domain, status, match, candidate }, index) => {
      const { currentLimit: limit, durationUntilResetUs: resetUs } = status;
      const left = limit === undefined ? 'no limit' : `${shownRemaining(status)} of ${rateText(limit)} left`;
      const reset = resetUs === undefined ? '' : `, reset ${durationText(resetUs)}`;
      const tried = candidate === 'none' ? '' : `, candidate ${candidate}`;
      return `statuses[${index}]: ${status.code}, rule ${ruleOf(domain, match)}, ${left}${reset}${tried}`;
    }),
  ];
}

function shownOf(decided: Answer['decided']): readonly Shown[] {
  if (decided === undefined) return [];
  const { decision, matched, request } = decided;
  return decision.statuses.map((status, index): Shown => {
    const match = matched.matches[index];
    if (match === undefined) throw new Error('a descriptor without a match');
    const candidate = candidateOf(decision.candidates?.filter(({ descriptor }) => descriptor === index));
    return { domain: toText(request.domain), status, match, candidate };
  });
}

function candidateOf(candidates: readonly CandidateVerdict[] = []): string {
  if (candidates.length === 0) return 'none';
  return candidates.every(({ fits }) => fits) ? 'OK' : 'OVER_LIMIT';
}

const STEP_FACTS = ['granted', 'state', 'cut', 'late', 'unknown', 'repeated'] as const;

function compareStep(expect: StepExpectation, answer: Answer): Difference[] {
  return STEP_FACTS.flatMap((name) =>
    expect[name] === undefined ? [] : differ(name, String(expect[name]), answer[name] === undefined ? 'none' : String(answer[name])),
  );
}

function compareStatus(shown: Shown | undefined, expect: StatusExpectation, path: string): Difference[] {
  if (shown === undefined) return missingStatus(expect, path);
  const { domain, status, match, candidate } = shown;
  const { currentLimit, durationUntilResetUs } = status;
  const differences: Difference[] = [];
  if (expect.code !== undefined) differences.push(...differ(`${path}code`, expect.code, status.code));
  if (expect.remaining !== undefined)
    differences.push(...differ(`${path}remaining`, String(expect.remaining), String(shownRemaining(status))));
  if (expect.resetUs !== undefined) {
    const actual = durationUntilResetUs === undefined ? 'none' : roundedAs(expect.resetUs, durationUntilResetUs);
    differences.push(...differ(`${path}reset`, durationText(expect.resetUs), actual));
  }
  if (expect.rule !== undefined) differences.push(...differ(`${path}rule`, expect.rule, ruleOf(domain, match)));
  if (expect.limit !== undefined && expect.limit !== currentLimit?.name)
    differences.push(...differ(`${path}limit`, expect.limit, currentLimit === undefined ? 'none' : rateText(currentLimit)));
  if (expect.candidate !== undefined) differences.push(...differ(`${path}candidate`, expect.candidate, candidate));
  return differences;
}

/** Without a descriptor, no field of one can agree. */
function missingStatus({ code, remaining, resetUs, rule, limit, candidate }: StatusExpectation, path: string): Difference[] {
  const fields = { code, remaining, reset: resetUs === undefined ? undefined : durationText(resetUs), rule, limit, candidate };
  return Object.entries(fields).flatMap(([field, value]) => (value === undefined ? [] : differ(`${path}${field}`, String(value), 'none')));
}

/** Answers have whole seconds, rounded up; where the expectation is finer, so is the comparison. */
function roundedAs(expectedUs: number, us: number): string {
  return durationText(expectedUs % US_PER_S === 0 ? toSecondsUp(us) * US_PER_S : us);
}

function compareWait(expected: number | 'never', denials: ReturnType<typeof denialsOf>): Difference[] {
  const us = denials.length === 0 ? undefined : (waitUsOf(denials) ?? 'never');
  const actual =
    us === undefined
      ? 'none'
      : us === 'never'
        ? us
        : expected === 'never' || expected % US_PER_S === 0
          ? `${retryAfterS(us)}s`
          : durationText(us);
  return differ('retry_after', expected === 'never' ? expected : durationText(expected), actual);
}

function ruleOf(domain: string, { rule, path }: Match): string {
  if (path.length === 0) return 'none';
  return [domain, ...(rule === undefined ? path.map((key) => toText(toByteString(key))) : path)].join('.');
}

function differ(field: string, expected: string, actual: string): Difference[] {
  return expected === actual ? [] : [{ field, expected, actual }];
}
