/** Sends random changes of the requests of all configurations, looks for those that were not counted, and makes them as small as they can be. */
import { randomFrom } from '../../support/random/random';
import type { RawRequest } from '../../support/clients/raw-request';
import type { Caller } from '../examples/target';
import { attemptOf, shown, type Attempt } from './attempt';
import { chooseMutations, mutated, type Chosen } from './mutations';
import type { Outcome, Sites, Trial } from './sites';
import { nameOf, SUBJECTS, type Subject } from './subjects';
import { escapeOf, hasLimitOfItsOwn, limitsIn, type Seen } from './verdict';

/** So many requests of one certificate or API key, because each has to be made before. */
const SHARED_BY = 8;
const ADDRESSES = 250;
/** The second byte of the first subject's addresses. */
const FIRST_NETWORK = 60;

interface Case {
  readonly subject: Subject;
  readonly caller: Caller;
  /** Without a change. A token is signed once, so that it can be known again. */
  readonly plain: RawRequest;
  readonly chosen: readonly Chosen[];
}

interface Escape extends Case {
  readonly reason: string;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
}

export interface Found {
  /** Descriptions of the smallest requests that were not counted. */
  readonly escapes: readonly string[];
  readonly sent: number;
  readonly reached: number;
}

export interface Hunt {
  readonly sites: Sites;
  readonly subjects: readonly Subject[];
  readonly seed: number;
  /** Changed requests of each configuration. */
  readonly rounds: number;
  /** The hunt ends at this number of escapes. */
  readonly enough: number;
}

function isShared(subject: Subject): boolean {
  const { tls, headers = [] } = subject.request({ name: 'x', address: '127.0.0.1' });
  return tls?.cert !== undefined || headers.some(([name]) => name === 'x-api-key');
}

/** By its number; the first byte that follows the network tells what it is for. */
function callerOf(subject: Subject, number: number, what: 'fresh' | 'plain' | 'spent' = 'fresh'): Caller {
  const place = SUBJECTS.indexOf(subject);
  const named = what === 'fresh' && isShared(subject) ? Math.floor(number / SHARED_BY) : number;
  const group = { fresh: Math.floor(number / ADDRESSES), plain: 240, spent: 241 }[what];
  return { name: `${what}-${place}-${named}`, address: `127.${FIRST_NETWORK + place}.${group}.${(number % ADDRESSES) + 1}` };
}

/** All names that `rounds` may need an API key for. */
export function keyNames(rounds: number): readonly string[] {
  const numbers = Array.from({ length: 2 * Math.ceil(rounds / SHARED_BY) + 1 }, (_, index) => index * SHARED_BY);
  return SUBJECTS.filter(({ example }) => example === 'api-keys' || example === 'recipes').flatMap((subject) => [
    callerOf(subject, 0, 'plain').name,
    callerOf(subject, 0, 'spent').name,
    ...numbers.map((number) => callerOf(subject, number).name),
  ]);
}

function caseOf(subject: Subject, caller: Caller, chosen: readonly Chosen[] = []): Case {
  return { subject, caller, plain: subject.request(caller), chosen };
}

function attemptFor({ subject, plain: request, chosen }: Case): Attempt {
  const { forged = [], written = [] } = subject;
  const plain = attemptOf(request);
  const changed = mutated(plain, chosen, { names: forged, others: ['127.0.0.250', 'victim'] });
  if (written.length === 0) return changed;
  const isWritten = ([name]: readonly [string, string]) =>
    written.some((each) =>
      name
        .toLowerCase()
        .replaceAll(/[^a-z]+/g, '-')
        .includes(each),
    );
  return { ...changed, headers: [...changed.headers.filter((field) => !isWritten(field)), ...plain.headers.filter(isWritten)] };
}

function trialOf(each: Case): Trial {
  const { from, tls } = each.plain;
  return {
    example: each.subject.example,
    attempt: attemptFor(each),
    as: { ...(from !== undefined && { from }), ...(tls !== undefined && { tls }) },
    isPatient: each.chosen.length === 0,
  };
}

function seenIn(each: Case, outcome: Outcome): Seen {
  const { hungUp, received, calls } = outcome;
  return { subject: each.subject, caller: each.caller, plain: each.plain, hungUp, received, calls };
}

/** Runs a function for each example side by side, with its subjects. */
async function forEachExample(subjects: readonly Subject[], run: (all: readonly Subject[]) => Promise<void>): Promise<void> {
  const examples = [...new Set(subjects.map(({ example }) => example))];
  await Promise.all(examples.map((id) => run(subjects.filter(({ example }) => example === id))));
}

/** The smallest limit that the request of each subject counts towards as it is. */
async function usualLimits({ sites, subjects }: Hunt): Promise<ReadonlyMap<Subject, number>> {
  const limits = new Map<Subject, number>();
  await forEachExample(subjects, async (all) => {
    for (const subject of all) {
      const each = caseOf(subject, callerOf(subject, 0, 'plain'));
      const outcome = await sites.run(trialOf(each));
      const seen = seenIn(each, outcome);
      const usual = limitsIn(seen).at(0);
      if (usual === undefined || outcome.received.length !== 1 || escapeOf(seen, usual) !== undefined)
        throw new Error(
          `a plain request of ${nameOf(subject)} is not counted: ${JSON.stringify(outcome.calls)} ${outcome.answer.toString('latin1')}`,
        );
      limits.set(subject, usual);
    }
  });
  return limits;
}

type Judge = (subject: Subject, chosen: readonly Chosen[]) => Promise<Escape | undefined>;

/** Leaves out every change that the escape does not need. */
async function smallest(escape: Escape, judge: Judge): Promise<Escape> {
  let least = escape;
  for (let at = 0; at < least.chosen.length;) {
    const found = await judge(
      least.subject,
      least.chosen.filter((_, index) => index !== at),
    );
    if (found === undefined) at += 1;
    else least = found;
  }
  return least;
}

interface Judging {
  readonly callerFor: (subject: Subject) => Caller;
  readonly escapeIn: (each: Case, outcome: Outcome) => string | undefined;
}

async function hunted({ sites, subjects, seed, rounds, enough }: Hunt, { callerFor, escapeIn }: Judging): Promise<Found> {
  const escapes: Escape[] = [];
  let [sent, reached] = [0, 0];
  const judge = async (subject: Subject, chosen: readonly Chosen[]): Promise<Escape | undefined> => {
    const each = caseOf(subject, callerFor(subject), chosen);
    const outcome = await sites.run(trialOf(each));
    sent += 1;
    reached += outcome.received.length;
    const reason = escapeIn(each, outcome);
    return reason === undefined ? undefined : { ...each, reason, attempt: attemptFor(each), outcome };
  };
  await forEachExample(subjects, async (all) => {
    // The order in which examples get their turns is not that of the seed.
    const random = randomFrom({ seed: seed + SUBJECTS.indexOf(all[0]!) });
    for (let round = 0; round < rounds && escapes.length < enough; round += 1) {
      const subject = all[round % all.length]!;
      const found = await judge(subject, chooseMutations(random));
      if (found !== undefined) escapes.push(await smallest(found, judge));
    }
  });
  return { escapes: escapes.map(described), sent, reached };
}

/** Each request comes from a caller that has all of its limit: it has to be charged if it reaches the backend. */
export async function huntUncounted(hunt: Hunt): Promise<Found> {
  const usual = await usualLimits(hunt);
  const numbers = new Map<Subject, number>();
  const fresh = (subject: Subject) => {
    const number = numbers.get(subject) ?? 0;
    numbers.set(subject, number + 1);
    return callerOf(subject, number);
  };
  const escapeIn = (each: Case, outcome: Outcome) => escapeOf(seenIn(each, outcome), usual.get(each.subject) ?? 0);
  return hunted(hunt, { callerFor: fresh, escapeIn });
}

/** Each request comes from a caller that has used its limit up: nothing may reach the backend but what its choices have limits of their own for. */
export async function huntBeyond(hunt: Hunt): Promise<Found> {
  const subjects = hunt.subjects.filter(({ neverFull }) => neverFull === undefined);
  const spent = (subject: Subject) => callerOf(subject, 0, 'spent');
  const left = new Map<Subject, number>();
  await forEachExample(subjects, async (all) => {
    for (const subject of all) {
      let passed = 0;
      for (let n = 0; n <= subject.passes; n += 1) {
        passed += (await hunt.sites.run(trialOf(caseOf(subject, spent(subject))))).received.length;
      }
      left.set(subject, (subject.total ?? subject.passes) - passed);
    }
  });
  const escapeIn = (each: Case, outcome: Outcome) => {
    const { subject } = each;
    const more = outcome.received.filter((received) => !hasLimitOfItsOwn(seenIn(each, outcome), received)).length;
    left.set(subject, (left.get(subject) ?? 0) - more);
    return more > 0 && (left.get(subject) ?? 0) < 0 ? `${more} more reached the backend` : undefined;
  };
  return hunted({ ...hunt, subjects }, { callerFor: spent, escapeIn });
}

function described({ subject, reason, chosen, attempt, outcome }: Escape): string {
  return [
    `${nameOf(subject)}: ${reason}, by ${chosen.map(({ name }) => name).join(' + ') || 'the plain request'}`,
    `  sent: ${shown(attempt)}`,
    ...outcome.received.map(({ method, target, head }) => `  backend: ${method} ${target} ${JSON.stringify(head).slice(0, 600)}`),
    ...outcome.calls.map((call) => `  Weir: ${JSON.stringify(call).slice(0, 600)}`),
    `  answer: ${JSON.stringify(outcome.answer.toString('latin1').slice(0, 200))}`,
  ].join('\n');
}
