/** A Weir process with a given configuration: its cost until the first decision, and what a reload of it takes. */

import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild, type Child } from '../../test/support/processes/child-process';
import { freePort } from '../../test/support/servers/ports';
import { RlsClient } from '../../test/support/clients/rls-client';
import type { LoadJob, LoadResult } from '../load/run-load';
import { pin, type Cores } from '../support/cores';
import { endedProcessorTimeUs, peakResidentBytes } from '../support/process-usage';
import type { WorkerProcess } from '../support/worker-process';
import { configText, DOMAIN, ENTRY_KEY, firstRule, type Shape } from './config-shapes';

const ROOT = path.join(__dirname, '..', '..');
const TURN_CLOCK = path.join(ROOT, 'test', 'support', 'clock', 'turn-clock.cjs');
/** More than any start or reload takes. */
const WAIT_MS_MAX = 120_000;
const POLL_MS = 5;
const CALL_MS_MAX = 10_000;
const CONNECTIONS = 4;

export interface StartFigures {
  /** From the start of the process until the answer of the first call. */
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
}

export interface ReloadFigures {
  /** From when the new file was there until a decision by it. */
  readonly inForceMs: number;
  readonly cpuMs: number;
  /** The longest turn of the event loop, without waits for a processor. */
  readonly longestTurnMs: number;
  /** Of calls in an open loop before the reload, and while it ran. */
  readonly p99BeforeMs: number;
  readonly p99Ms: number;
}

export interface ConfiguredWeirOptions {
  readonly shape: Shape;
  readonly rules: number;
  readonly cores: Cores | undefined;
  /** Whether the turns of the event loop are timed, which costs processor time. */
  readonly timesTurns: boolean;
}

export interface ReloadInput {
  readonly requests: number;
  readonly generator: WorkerProcess<LoadJob, LoadResult>;
  readonly perSecond: number;
  readonly loadMs: number;
}

export class ConfiguredWeir {
  private constructor(
    private readonly options: ConfiguredWeirOptions,
    private readonly home: string,
    private readonly child: Child,
    private readonly port: number,
    private readonly client: RlsClient,
    readonly start: StartFigures,
  ) {}

  /** Resolves when the first call was answered. */
  static async start(options: ConfiguredWeirOptions): Promise<ConfiguredWeir> {
    const { shape, rules, cores, timesTurns } = options;
    const home = mkdtempSync(path.join(tmpdir(), 'weir-config-'));
    const requests = 1_000;
    writeFileSync(path.join(home, 'limits.yaml'), configText({ shape, rules, requests }));
    const [grpcPort, httpPort, debugPort] = [await freePort(), await freePort(), await freePort()];
    const startedMs = performance.now();
    const child = startChild({
      command: path.join(ROOT, 'deploy', 'bin', 'ratelimit'),
      args: ['--config', path.join(home, 'limits.yaml')],
      env: {
        WEIR_HOME: ROOT,
        BACKEND_TYPE: 'memory',
        DRAIN_DELAY: '0s',
        HOST: '127.0.0.1',
        PORT: String(httpPort),
        GRPC_HOST: '127.0.0.1',
        GRPC_PORT: String(grpcPort),
        DEBUG_HOST: '127.0.0.1',
        DEBUG_PORT: String(debugPort),
        ...(timesTurns && { NODE_OPTIONS: `--require ${TURN_CLOCK}`, TURN_CLOCK_FILE: path.join(home, 'turns.json') }),
      },
    });
    try {
      pin(child.pid, cores?.server);
      await waitUntil(() => isListening(grpcPort), child);
      const client = new RlsClient(grpcPort);
      const weir = { shape, client };
      if ((await askLimit(weir)) !== requests) throw new Error('the first decision was made by another limit');
      const start = {
        wallMs: performance.now() - startedMs,
        cpuMs: endedProcessorTimeUs(child.pid) / 1000,
        peakBytes: peakResidentBytes(child.pid),
      };
      return new ConfiguredWeir(options, home, child, grpcPort, client, start);
    } catch (error) {
      await child.stop();
      throw error;
    }
  }

  /** Puts another limit into the file while calls come at a fixed rate. */
  async reload({ requests, generator, perSecond, loadMs }: ReloadInput): Promise<ReloadFigures> {
    const before = await this.load(generator, perSecond, loadMs);
    await this.longestTurnMs();
    const cpuBeforeUs = endedProcessorTimeUs(this.child.pid);
    const during = this.load(generator, perSecond, loadMs);
    const file = path.join(this.home, 'limits.yaml');
    writeFileSync(`${file}.new`, configText({ ...this.options, requests }));
    const changedMs = performance.now();
    renameSync(`${file}.new`, file);
    await waitUntil(async () => (await askLimit({ shape: this.options.shape, client: this.client })) === requests, this.child);
    const inForceMs = performance.now() - changedMs;
    const cpuMs = (endedProcessorTimeUs(this.child.pid) - cpuBeforeUs) / 1000;
    const { p99 } = await during.then(({ latencyMs }) => latencyMs!);
    return { inForceMs, cpuMs, longestTurnMs: await this.longestTurnMs(), p99BeforeMs: before.latencyMs!.p99, p99Ms: p99 };
  }

  async stop(): Promise<void> {
    this.client.close();
    await this.child.stop();
    rmSync(this.home, { recursive: true, force: true });
  }

  private async load(generator: ReloadInput['generator'], perSecond: number, durationMs: number): Promise<LoadResult> {
    const result = await generator.run({
      host: '127.0.0.1',
      port: this.port,
      connections: CONNECTIONS,
      load: { kind: 'open', perSecond },
      durationMs,
      asked: { domain: DOMAIN, entryKeys: [ENTRY_KEY] },
      keys: { count: Math.min(this.options.rules - 1, 10_000), order: { seed: 1 } },
      watchedBelow: 0,
    });
    if (result.failed > 0)
      throw new Error(`${result.failed} calls failed during a reload: ${result.broken ?? 'they were answered with errors'}`);
    return result;
  }

  /** Since it was asked last. */
  private async longestTurnMs(): Promise<number> {
    const file = path.join(this.home, 'turns.json');
    rmSync(file, { force: true });
    this.child.kill('SIGUSR2');
    await waitUntil(() => Promise.resolve(existsSync(file)), this.child);
    return (JSON.parse(readFileSync(file, 'utf8')) as number[])[0] ?? 0;
  }
}

/** The limit that decides for the first rule. */
async function askLimit({ shape, client }: { readonly shape: Shape; readonly client: RlsClient }): Promise<number | undefined> {
  const { statuses } = await client.ask(DOMAIN, [{ entries: firstRule(shape) }], { timeoutMs: CALL_MS_MAX });
  return statuses[0]?.current_limit?.requests_per_unit;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const answer = (listens: boolean): void => {
      socket.destroy();
      resolve(listens);
    };
    socket.once('connect', () => {
      answer(true);
    });
    socket.once('error', () => {
      answer(false);
    });
  });
}

async function waitUntil(isSo: () => Promise<boolean>, child: Child): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX;
  while (!(await isSo())) {
    if (!child.isRunning() || performance.now() > endMs)
      throw new Error(`Weir ended or took longer than ${WAIT_MS_MAX} ms. Its last lines:\n${child.output()}`);
    await sleep(POLL_MS);
  }
}
