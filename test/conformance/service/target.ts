/** `npm run conformance`: asks any rate limit service over gRPC, and tells by what its answers differ. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { readChoice, readWhole, UsageError } from '../../../src/program/cli/usage-error';
import { loadProto } from '../../../src/server/transport/messages/proto';
import { httpRequest } from '../../support/clients/http-client';
import { randomFrom } from '../../support/random/random';
import { startStatsdServer } from '../../support/servers/statsd-server';
import type { DecidedRequest, Asked, ConfiguredDomain } from '../model/asked';
import { randomConfig } from '../random/random-configs';
import { compared, countsOfLines, countsOfPage } from './read-statistics';
import { reportLines, runConformance, type Ask, type ConformanceReport } from './run-conformance';
import { toAnswered, toWireRequest, type ReceivedResponse } from './wire';

/** Nobody can set the clock of a service, so its windows must outlast the run. */
const UNITS = ['hour', 'day', 'week', 'month', 'year'] as const;
const HOUR_SECONDS = 3600;
/** Ten thousand requests take less, and an hour that ends within them would begin its counters anew. */
const RUN_SECONDS_MAX = 180;
/** The service's clock and this one, and the second that may end in between. */
const RESET_TOLERANCE_SECONDS = 2;
const REQUESTS_PER_CONFIG = 100;
const CALL_TIMEOUT_MS = 5_000;
const LOADED_TIMEOUT_MS = 120_000;
const POLL_MS = 500;
/** Twice the default of STATS_FLUSH_INTERVAL, and some more. */
const STATISTICS_TIMEOUT_MS = 25_000;

const { path, requestSerialize, responseDeserialize } = loadProto().rateLimit.ShouldRateLimit;

export interface TargetOptions {
  readonly target: string;
  /** The folder that it reads its configuration from. */
  readonly configDir: string;
  readonly seed: number;
  readonly requests: number;
  /** The port on which it tells statsd what it counts, over TCP: it is listened on here. */
  readonly statsdPort?: number | undefined;
  /** Whether it denies by what it remembers: LOCAL_CACHE_SIZE_IN_BYTES of the reference. */
  readonly remembersDenials?: boolean;
  /** Its page for Prometheus. */
  readonly metricsUrl?: string | undefined;
  /** How long the requests may take; default: as long as ten thousand. */
  readonly runSecondsMax?: number;
  /** Called with what the run waits for. */
  readonly say: (line: string) => void;
}

/** Asks, and tells what came of it; rejects if the service never has the configuration. */
export async function runTarget({
  target,
  configDir,
  seed,
  requests,
  statsdPort,
  metricsUrl,
  remembersDenials = false,
  runSecondsMax = RUN_SECONDS_MAX,
  say,
}: TargetOptions): Promise<ConformanceReport> {
  const random = randomFrom({ seed });
  // Counters of an earlier run are of other domains.
  const run = `conformance-${Date.now().toString(36)}`;
  const count = Math.max(1, Math.round(requests / REQUESTS_PER_CONFIG));
  const configs = Array.from({ length: count }, (_, n) => randomConfig({ random, domain: `${run}-${n}`, units: UNITS }));
  const probe: ConfiguredDomain = {
    domain: `${run}-probe`,
    descriptors: [{ key: 'probe', rate_limit: { unit: 'year', requests_per_unit: 1 } }],
  };
  mkdirSync(configDir, { recursive: true });
  [...configs, probe].forEach((config) => {
    writeFileSync(join(configDir, `${config.domain}.yaml`), `${JSON.stringify(config)}\n`);
  });
  const statsd = statsdPort === undefined ? undefined : await startStatsdServer({ protocol: 'tcp', port: statsdPort });
  const client = new Client(target, credentials.createInsecure());
  try {
    const ask = askOver(client);
    say(`seed ${seed}: ${configs.length + 1} files in ${configDir}; waiting until ${target} answers by them (start it, or reload it)`);
    await untilLoaded(ask, probe.domain);
    await untilAnHourIsLeft({ runSecondsMax, say });
    const nowSeconds = () => Date.now() / 1000;
    // The reference has `_` for `-` in names that it does not map. Until the configuration was there, the probe was of an unknown domain.
    const isOurs = (name: string) => name.replaceAll('_', '-').includes(`${run}-`) && !name.includes('probe');
    const readStatistics = async () => ({
      ...(statsd && { statsd: compared(countsOfLines(statsd.lines), isOurs) }),
      ...(metricsUrl !== undefined && { prometheus: compared(countsOfPage((await httpRequest(metricsUrl)).body), isOurs) }),
    });
    return await runConformance({
      ask,
      configs,
      random,
      requests,
      nowSeconds,
      units: UNITS,
      withHugeHits: false,
      remembersDenials,
      resetToleranceSeconds: RESET_TOLERANCE_SECONDS,
      statisticsTimeoutMs: STATISTICS_TIMEOUT_MS,
      ...((statsd !== undefined || metricsUrl !== undefined) && { readStatistics }),
    });
  } finally {
    client.close();
    await statsd?.close();
  }
}

function askOver(client: Client): Ask {
  return (asked) =>
    new Promise<DecidedRequest>((resolve, reject) => {
      const done = (error: ServiceError | null, response?: ReceivedResponse) => {
        if (response !== undefined) resolve(toAnswered(response));
        else if (error?.code === status.UNAVAILABLE || error?.code === status.DEADLINE_EXCEEDED) reject(error);
        else resolve({ error: status[error?.code ?? status.UNKNOWN] });
      };
      const options = { deadline: Date.now() + CALL_TIMEOUT_MS };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, toWireRequest(asked), options, done);
    });
}

async function untilLoaded(ask: Ask, domain: string): Promise<void> {
  // A peek: it takes nothing.
  const asked: Asked = { domain, descriptors: [{ entries: [{ key: 'probe', value: 'v' }], hits: 0n }] };
  const giveUpMs = Date.now() + LOADED_TIMEOUT_MS;
  while (Date.now() < giveUpMs) {
    const answered = await ask(asked).catch(() => undefined);
    if (answered !== undefined && 'statuses' in answered && answered.statuses[0]?.limit !== undefined) return;
    await sleep(POLL_MS);
  }
  throw new Error(`the configuration was not loaded within ${LOADED_TIMEOUT_MS / 1000} s`);
}

async function untilAnHourIsLeft({ runSecondsMax, say }: Required<Pick<TargetOptions, 'runSecondsMax' | 'say'>>): Promise<void> {
  const leftSeconds = HOUR_SECONDS - ((Date.now() / 1000) % HOUR_SECONDS);
  if (leftSeconds > runSecondsMax) return;
  say(`waiting ${Math.ceil(leftSeconds)} s for the next hour, so that no window ends meanwhile`);
  await sleep(leftSeconds * 1000 + 1000);
}

const SEED_MAX = 2 ** 31;

const USAGE =
  'npm run conformance -- --target HOST:PORT --config-dir DIR [--requests N] [--seed N] [--statsd-port PORT] [--metrics-url URL] [--local-cache] [--expect weir|reference]';

async function main(): Promise<number> {
  const string = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      target: string,
      'config-dir': string,
      requests: string,
      seed: string,
      'statsd-port': string,
      'metrics-url': string,
      'local-cache': { type: 'boolean' },
      expect: string,
    },
  });
  const { target, 'config-dir': configDir } = values;
  if (target === undefined || configDir === undefined) {
    console.error(USAGE);
    return 2;
  }
  const requests = readWhole('--requests', values.requests, { min: 1, max: 1_000_000, otherwise: 10_000 });
  const seed = readWhole('--seed', values.seed, { min: 0, max: SEED_MAX, otherwise: Math.floor(Math.random() * SEED_MAX) });
  const statsdPort =
    values['statsd-port'] === undefined
      ? undefined
      : readWhole('--statsd-port', values['statsd-port'], { min: 1, max: 65_535, otherwise: 8125 });
  const expected = readChoice('--expect', values.expect, ['either', 'weir', 'reference']);
  const report = await runTarget({
    target,
    configDir,
    seed,
    requests,
    statsdPort,
    metricsUrl: values['metrics-url'],
    remembersDenials: values['local-cache'] === true,
    say: (line) => {
      console.log(line);
    },
  });
  console.log(reportLines(report).join('\n'));
  const { notWeirs, notReferences } = report.statistics ?? { notWeirs: [], notReferences: [] };
  if (expected === 'weir') return report.asWeir === report.requests && notWeirs.length === 0 ? 0 : 1;
  if (expected === 'reference') return report.asReference === report.requests && notReferences.length === 0 ? 0 : 1;
  return report.unexplained.length === 0 ? 0 : 1;
}

if (require.main === module) {
  main().then(
    (code) => process.exit(code),
    (error: unknown) => {
      console.error(error instanceof UsageError ? error.message : error);
      process.exit(error instanceof UsageError ? 2 : 1);
    },
  );
}
