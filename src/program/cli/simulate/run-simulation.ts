/** Runs arrivals against a configuration in virtual time, with clients that may come again. */

import type { RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { rateText } from '../../../domain/rule/limit';
import type { RuleSet } from '../../../domain/rule/rule-set';
import type { GlobalModes } from '../../../domain/rule/match';
import { ExpiryQueue } from '../../../lib/expiry-queue';
import { US_PER_S } from '../../../lib/time-units';
import { VirtualService, type VirtualDecision } from '../../offline/virtual-service';
import { UsageError } from '../usage-error';

/** Requests and repetitions of one run. */
export const ATTEMPTS_MAX = 5_000_000;

const DAY_US = 24 * 3_600 * US_PER_S;

/** Room of the store of a run: a request names a few buckets. */
const BUCKETS_MAX = 10_000;

/** A client after a denial: it gives up, comes when the answer says, or comes after a fixed time. */
export type Retry = 'none' | 'honour' | { readonly afterUs: number };

export interface SimulationInput {
  readonly name: string;
  readonly ruleSet: RuleSet;
  readonly modes: GlobalModes;
  readonly request: RateLimitRequest;
  /** In order, in microseconds since the start. */
  readonly arrivalsUs: readonly number[];
  /** In microseconds since 1970. */
  readonly startUs: number;
  readonly retry: Retry;
  /** How often a client comes again at most. */
  readonly retriesMax: number;
  /** Number of parts into which the time is divided. */
  readonly columns: number;
  /** Requests and repetitions. */
  readonly attemptsMax: number;
  /** The last time at which a client may ask, in microseconds since the start. */
  readonly lengthUsMax: number;
}

export interface Simulation {
  readonly name: string;
  /** The limits of the rule, as `100/minute`; empty: nothing limits the request. */
  readonly limit: string;
  readonly requests: number;
  /** Requests that were admitted, at once or after retries. */
  readonly admitted: number;
  readonly denied: number;
  /** Requests and retries. */
  readonly attempts: number;
  readonly retries: number;
  /** When the last request was admitted, in microseconds since the start; absent: none was. */
  readonly lastAdmittedUs?: number;
  readonly columns: readonly Column[];
}

/** A part of the time. */
export interface Column {
  readonly fromUs: number;
  readonly admitted: number;
  /** Attempts that were denied. */
  readonly denied: number;
  /** Hits left at its end; absent: nothing limits the request. */
  readonly left?: number;
  /** The most that can be left. */
  readonly capacity?: number;
}

interface Client {
  readonly atUs: number;
  /** How often it has come again. */
  readonly tries: number;
}

/**
 * @throws BadRequestError for an invalid request; UsageError if the clients come again too often
 */
export async function runSimulation(input: SimulationInput): Promise<Simulation> {
  const first = await attempt(input);
  // Clients that come again extend the time, so the columns are made when all is known.
  const lengthUs = (first.events.at(-1)?.atUs ?? 0) + 1;
  const columns = await withLevels(input, { ...first, lengthUs });
  const { requests, admitted, retries, lastAdmittedUs, limit } = first;
  return {
    name: input.name,
    limit,
    requests,
    admitted,
    denied: requests - admitted,
    attempts: requests + retries,
    retries,
    ...(lastAdmittedUs !== undefined && { lastAdmittedUs }),
    columns,
  };
}

/** One attempt: its time, and whether it was admitted. */
interface Event {
  readonly atUs: number;
  readonly isAdmitted: boolean;
}

interface Attempted {
  readonly events: readonly Event[];
  readonly requests: number;
  readonly admitted: number;
  readonly retries: number;
  readonly lastAdmittedUs: number | undefined;
  readonly limit: string;
}

async function attempt(input: SimulationInput): Promise<Attempted> {
  const { arrivalsUs, request, startUs, retriesMax, retry, attemptsMax, lengthUsMax } = input;
  const service = serviceOf(input);
  const again = new ClientQueue();
  const events: Event[] = [];
  let [next, admitted, retries] = [0, 0, 0];
  let limit = '';
  let lastAdmittedUs: number | undefined;
  for (;;) {
    const arrivalUs = arrivalsUs[next];
    const { firstUs } = again;
    if (arrivalUs === undefined && firstUs === undefined) break;
    // Who was there before comes first.
    const client =
      arrivalUs === undefined || (firstUs !== undefined && firstUs <= arrivalUs) ? again.take() : { atUs: arrivalUs, tries: 0 };
    if (client === undefined) break;
    if (client.tries === 0) next += 1;
    else retries += 1;
    const answer = await service.ask(request, startUs + client.atUs);
    if (limit === '') limit = limitOf(answer);
    const isAdmitted = answer.decision.overallCode === 'OK';
    if (client.atUs > lengthUsMax)
      throw new UsageError(
        `weir simulate: clients ask more than ${Math.floor(lengthUsMax / DAY_US)} days after the start; simulate a shorter time, or fewer repetitions (--retries-max)`,
      );
    events.push({ atUs: client.atUs, isAdmitted });
    if (events.length > attemptsMax)
      throw new UsageError(
        `weir simulate: clients ask more than ${attemptsMax} times; let them wait longer, or fewer times (--retries-max)`,
      );
    if (isAdmitted) {
      admitted += 1;
      lastAdmittedUs = client.atUs;
      continue;
    }
    const waitUs = waitOf(answer, retry);
    if (waitUs !== undefined && client.tries < retriesMax) again.add({ atUs: client.atUs + waitUs, tries: client.tries + 1 });
  }
  return { events, requests: arrivalsUs.length, admitted, retries, lastAdmittedUs, limit };
}

function serviceOf({ ruleSet, modes, startUs }: SimulationInput): VirtualService {
  return new VirtualService({ ruleSet, modes, keyPrefix: '', records: [], startUs, bucketsMax: BUCKETS_MAX });
}

/** Undefined: the client gives up. A denial that no wait ends is one. */
function waitOf({ decision }: VirtualDecision, retry: Retry): number | undefined {
  if (retry === 'none') return undefined;
  if (retry !== 'honour') return retry.afterUs;
  const denying = decision.statuses.filter(({ denies }) => denies);
  if (denying.some(({ neverFits }) => neverFits === true)) return undefined;
  return Math.max(1, ...denying.map(({ durationUntilResetUs = 0 }) => durationUntilResetUs));
}

function limitOf({ decision }: VirtualDecision): string {
  return decision.statuses
    .flatMap(({ currentLimit }) => (currentLimit === undefined ? [] : [currentLimit]))
    .map(rateText)
    .join(', ');
}

/** Asks the same attempts again on a service of its own, with a check at the end of each column: a check takes nothing. */
async function withLevels(input: SimulationInput, { events, lengthUs }: Attempted & { readonly lengthUs: number }): Promise<Column[]> {
  const { request, startUs, columns: count } = input;
  const service = serviceOf(input);
  const check: RateLimitRequest = { ...request, descriptors: request.descriptors.map((each) => ({ ...each, hits: 0 })) };
  const columns: Column[] = [];
  let next = 0;
  for (let i = 0; i < count; i += 1) {
    const [fromUs, endUs] = [Math.floor((i * lengthUs) / count), Math.floor(((i + 1) * lengthUs) / count)];
    let [admitted, denied] = [0, 0];
    for (let event = events[next]; event !== undefined && event.atUs < endUs; event = events[next]) {
      await service.ask(request, startUs + event.atUs);
      if (event.isAdmitted) admitted += 1;
      else denied += 1;
      next += 1;
    }
    const { decision } = await service.ask(check, startUs + endUs);
    const least = decision.statuses
      .filter(({ currentLimit }) => currentLimit !== undefined)
      .sort((one, other) => one.limitRemaining - other.limitRemaining)[0];
    columns.push({
      fromUs,
      admitted,
      denied,
      ...(least?.currentLimit && { left: least.limitRemaining, capacity: least.currentLimit.capacity }),
    });
  }
  return columns;
}

/** Clients that come again at one time, in the order of their denials. */
interface Returning {
  readonly atUs: number;
  readonly tries: number[];
  /** The index of the client that comes next. */
  next: number;
}

/** Clients that come again, the earliest first. At the same time, the one that was denied first comes first. */
class ClientQueue {
  private readonly times = new ExpiryQueue<Returning>();
  private readonly byTime = new Map<number, Returning>();

  /** When the first one comes; undefined: nobody waits. */
  get firstUs(): number | undefined {
    return this.times.first?.until;
  }

  add({ atUs, tries }: Client): void {
    let returning = this.byTime.get(atUs);
    if (returning === undefined) {
      returning = { atUs, tries: [], next: 0 };
      this.byTime.set(atUs, returning);
      this.times.add(atUs, returning);
    }
    returning.tries.push(tries);
  }

  take(): Client | undefined {
    const { first } = this.times;
    if (first === undefined) return undefined;
    const { atUs, tries, next } = first.key;
    const client = { atUs, tries: tries[next] ?? 0 };
    first.key.next += 1;
    if (first.key.next === tries.length) {
      this.times.remove(first);
      this.byTime.delete(atUs);
    }
    return client;
  }
}
