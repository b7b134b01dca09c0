/** Reads what a simulation is given in words, and runs it: the limits, the arrivals, and the clients. It runs in browsers too. */

import { examineConfig } from '../../../configuration/compile/compile';
import { ALGORITHMS, TRAITS, type Algorithm } from '../../../domain/algorithm/algorithms';
import { toByteString } from '../../../domain/descriptor/byte-string';
import { HITS_MAX } from '../../../domain/descriptor/descriptor';
import { BadRequestError } from '../../../lib/errors';
import { readOverride } from '../read-override';
import { readDurationUs, readInstantUs, TIME_US_MAX } from '../test/file/virtual-time';
import { readChoice, readWhole, UsageError } from '../usage-error';
import { ARRIVALS_MAX, arrivalsOf } from './arrivals';
import { ATTEMPTS_MAX, runSimulation, type Retry, type Simulation, type SimulationInput } from './run-simulation';

/** The options of `weir simulate` that say what happens, by their names, as written. */
export interface RunValues {
  readonly algorithm?: string | undefined;
  readonly capacity?: string | undefined;
  readonly rate?: string | undefined;
  readonly poisson?: string | undefined;
  readonly seed?: string | undefined;
  readonly for?: string | undefined;
  readonly from?: string | undefined;
  readonly burst?: string | undefined;
  readonly at?: readonly string[] | undefined;
  /** The lines, not the name of a file. */
  readonly arrivals?: string | undefined;
  readonly hits?: string | undefined;
  readonly start?: string | undefined;
  readonly retry?: string | undefined;
  readonly 'retries-max'?: string | undefined;
  readonly columns?: string | undefined;
}

/** How much one run may do. */
export interface RunBounds {
  readonly arrivalsMax: number;
  /** Requests and repetitions of each target. */
  readonly attemptsMax: number;
  /** The last time at which a client may ask, in microseconds since the start. */
  readonly lengthUsMax: number;
}

const START = '2026-01-01T00:00:00Z';
const COLUMNS = { min: 1, max: 1_000, otherwise: 60 };
const RETRIES = { min: 0, max: 1_000, otherwise: 10 };

/** The request of a limit that is given on the command line. */
const OWN_REQUEST = { domain: 'simulation', key: 'client', value: 'one' };

/** A request under a configuration. */
export type Target = Pick<SimulationInput, 'name' | 'ruleSet' | 'modes' | 'request'>;

const BOUNDS: RunBounds = { arrivalsMax: ARRIVALS_MAX, attemptsMax: ATTEMPTS_MAX, lengthUsMax: TIME_US_MAX };

/**
 * Simulates the same arrivals for each target.
 *
 * @throws UsageError for a value that is invalid, and for more arrivals or attempts than the bounds
 */
export async function runAll(targets: readonly Target[], values: RunValues, bounds = BOUNDS): Promise<readonly Simulation[]> {
  const startUs = readStart(values.start ?? START);
  const common = {
    startUs,
    arrivalsUs: readArrivals(values, { startUs, arrivalsMax: bounds.arrivalsMax }),
    retry: readRetry(values.retry),
    retriesMax: readWhole('--retries-max', values['retries-max'], RETRIES),
    columns: readWhole('--columns', values.columns, COLUMNS),
    attemptsMax: bounds.attemptsMax,
    // All times are exact before 2150.
    lengthUsMax: Math.min(bounds.lengthUsMax, TIME_US_MAX - startUs),
  };
  const simulations: Simulation[] = [];
  for (const target of targets) simulations.push(await runOrRefuse({ ...target, ...common }));
  return simulations;
}

async function runOrRefuse(input: SimulationInput): Promise<Simulation> {
  try {
    return await runSimulation(input);
  } catch (error) {
    if (error instanceof BadRequestError) throw new UsageError(`weir simulate: ${error.message}`);
    throw error;
  }
}

/** The configuration that a person would write for the limit, once for each algorithm. */
export function limitTargets(limit: string, values: Pick<RunValues, 'algorithm' | 'capacity' | 'hits'>): readonly Target[] {
  const { requestsPerUnit, unit, unitMultiplier } = readOverride(limit);
  const { domain, key, value } = OWN_REQUEST;
  const request = {
    domain: toByteString(domain),
    descriptors: [{ entries: [{ key: toByteString(key), value: toByteString(value) }] }],
    hits: readHits(values.hits),
  };
  return readAlgorithms(values.algorithm).map((algorithm) => {
    const terms = {
      requests_per_unit: requestsPerUnit,
      unit,
      unit_multiplier: unitMultiplier,
      algorithm,
      ...burstOf(algorithm, values.capacity),
    };
    // In block style, for which no library is loaded.
    const lines = Object.entries(terms).map(([field, value]) => `    ${field}: ${value}`);
    const text = [`domain: ${domain}`, 'descriptors:', `- key: ${key}`, '  rate_limit:', ...lines, ''].join('\n');
    const { ruleSet, list } = examineConfig({
      files: [{ name: '--limit', text }],
      defaultAlgorithm: algorithm,
      calendarMonth: false,
      mergeDomainConfig: false,
      generation: 1,
    });
    const [problem] = list.found().kept;
    if (problem !== undefined) throw new UsageError(`--limit with ${algorithm}: ${problem.message}`);
    return { name: algorithm, ruleSet, modes: { shadow: false, quota: false }, request };
  });
}

/** Algorithms without a burst hold their whole limit. */
function burstOf(algorithm: Algorithm, given: string | undefined): { readonly burst?: number } {
  const { burst } = TRAITS[algorithm];
  if (given === undefined) return {};
  const capacity = readWhole('--capacity', given, { min: 1, max: 2 ** 32 - 1, otherwise: 1 });
  return burst === undefined ? {} : { burst: burst.forCapacity(capacity) };
}

function readAlgorithms(given: string | undefined): readonly Algorithm[] {
  if (given === undefined) return ALGORITHMS;
  return [...new Set(given.split(','))].map((word) => readChoice('--algorithm', word, ALGORITHMS as readonly [Algorithm, ...Algorithm[]]));
}

export function readHits(given: string | undefined): number {
  return readWhole('--hits', given, { min: 1, max: HITS_MAX, otherwise: 1 });
}

function readArrivals(
  values: RunValues,
  { startUs, arrivalsMax }: { readonly startUs: number; readonly arrivalsMax: number },
): readonly number[] {
  const burst = readWhole('--burst', values.burst, { min: 1, max: ARRIVALS_MAX, otherwise: 1 });
  const at = values.at ?? (values.burst === undefined ? [] : ['0s']);
  return arrivalsOf({
    rate: values.rate,
    poisson: values.poisson,
    seed: readWhole('--seed', values.seed, { min: 0, max: 2 ** 32 - 1, otherwise: 1 }),
    forUs: readTime('--for', values.for ?? '1m'),
    fromUs: readTime('--from', values.from ?? '0s'),
    burst,
    atUs: at.map((each) => readTime('--at', each)),
    text: values.arrivals,
    startUs,
    arrivalsMax,
  });
}

function readTime(option: string, text: string): number {
  const us = readDurationUs(text);
  if (us === undefined) throw new UsageError(`${option}: ${JSON.stringify(text)} is not a time; write 500ms, 1m30s or 2h`);
  return us;
}

function readStart(text: string): number {
  const us = readInstantUs(text);
  if (us === undefined) throw new UsageError(`--start: ${JSON.stringify(text)} is not an instant; write ${START}`);
  return us;
}

function readRetry(text = 'none'): Retry {
  if (text === 'none' || text === 'honour') return text;
  const afterUs = readDurationUs(text);
  if (afterUs === undefined || afterUs === 0)
    throw new UsageError(`--retry: ${JSON.stringify(text)} is not accepted; use none, honour, or a time such as 500ms`);
  return { afterUs };
}
