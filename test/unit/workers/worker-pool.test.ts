/** No worker listens before all can, and one that ends is restarted at growing intervals. */

import { EventEmitter } from 'node:events';
import type { FromWorker, ToWorker } from '../../../src/server/workers/messages';
import { WorkerPool, type WorkerProcess } from '../../../src/server/workers/worker-pool';
import { WorkerStartError } from '../../../src/server/workers/worker-start-error';

const PORTS = { grpc: 1, http: 2 };

class FakeWorker extends EventEmitter implements WorkerProcess {
  readonly told: ToWorker[] = [];
  readonly signals: string[] = [];
  readonly process: { pid?: number } = {};
  private isOpen = true;

  constructor(readonly id: number) {
    super();
    this.process.pid = 1000 + id;
  }

  send(message: ToWorker): void {
    this.told.push(message);
  }

  isConnected(): boolean {
    return this.isOpen;
  }

  kill(signal: NodeJS.Signals): void {
    this.signals.push(signal);
    if (signal === 'SIGKILL') this.end(null, signal);
  }

  say(message: FromWorker): void {
    this.emit('message', message);
  }

  /** Its process has ended, and its last words have been read. */
  end(code: number | null, signal: string | null = null): void {
    this.exit(code, signal);
    this.disconnect();
  }

  exit(code: number | null, signal: string | null = null): void {
    this.emit('exit', code, signal);
  }

  /** It could not be begun: nothing is heard of it but that. */
  fail(): void {
    delete this.process.pid;
    this.isOpen = false;
    this.emit('error', new Error('spawn node EAGAIN'));
  }

  disconnect(): void {
    this.isOpen = false;
    this.emit('disconnect');
  }
}

interface Scene {
  readonly pool: WorkerPool;
  readonly workers: FakeWorker[];
  readonly ended: number[];
  /** Whose counts were heard. */
  readonly heard: number[];
  readonly log: string[];
  nowMs: number;
  restarts: number;
  /** Thrown by the next forks. */
  forkError: Error | undefined;
}

function makeScene(count: number): Scene {
  const scene = {
    workers: [] as FakeWorker[],
    ended: [] as number[],
    heard: [] as number[],
    log: [] as string[],
    nowMs: 0,
    restarts: 0,
    forkError: undefined as Error | undefined,
  };
  const pool = new WorkerPool({
    count,
    fork: () => {
      if (scene.forkError !== undefined) throw scene.forkError;
      const worker = new FakeWorker(scene.workers.length + 1);
      scene.workers.push(worker);
      return worker;
    },
    log: { error: (_fields: unknown, line: string) => scene.log.push(line) } as never,
    onMetrics: (worker) => scene.heard.push(worker),
    onSample: () => undefined,
    onServing: () => undefined,
    onEnd: (worker) => scene.ended.push(worker),
    onRestart: () => {
      scene.restarts += 1;
    },
    configNews: () => ({}),
    nowMs: () => scene.nowMs,
  });
  return Object.assign(scene, { pool });
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

async function startAll(scene: Scene): Promise<void> {
  const started = scene.pool.start();
  for (const worker of scene.workers) worker.say({ kind: 'prepared' });
  await started;
  const listening = scene.pool.listen();
  for (const worker of scene.workers) {
    expect(worker.told).toEqual([{ kind: 'listen' }]);
    worker.say({ kind: 'ready', ports: PORTS });
    await settled();
  }
  expect(await listening).toEqual(PORTS);
}

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

test('no worker listens before all can, and then one after the other', async () => {
  const scene = makeScene(3);
  const listening = scene.pool.start().then(() => scene.pool.listen());
  const told = (): readonly number[] => scene.workers.filter((worker) => worker.told.length > 0).map(({ id }) => id);
  for (const worker of scene.workers.slice(1)) worker.say({ kind: 'prepared' });
  await settled();
  expect(told()).toEqual([]);
  scene.workers[0]!.say({ kind: 'prepared' });
  await settled();
  expect(told()).toEqual([1]);
  scene.workers[0]!.say({ kind: 'ready', ports: PORTS });
  await settled();
  expect(told()).toEqual([1, 2]);
  scene.workers[1]!.say({ kind: 'ready', ports: PORTS });
  await settled();
  expect(told()).toEqual([1, 2, 3]);
  scene.workers[2]!.say({ kind: 'ready', ports: PORTS });
  await listening;
  expect(scene.pool.size).toBe(3);
});

test('no worker answers before the pool opens, and one that starts later answers at once', async () => {
  const scene = makeScene(2);
  await startAll(scene);
  const opened = (): readonly number[] => scene.workers.filter(({ told }) => told.some(({ kind }) => kind === 'open')).map(({ id }) => id);
  expect(opened()).toEqual([]);
  scene.pool.open();
  expect(opened()).toEqual([1, 2]);
  scene.workers[1]!.end(1);
  await settled();
  jest.advanceTimersToNextTimer();
  scene.workers[2]!.say({ kind: 'prepared' });
  await settled();
  expect(opened()).toEqual([1, 2]);
  scene.workers[2]!.say({ kind: 'ready', ports: PORTS });
  expect(opened()).toEqual([1, 2, 3]);
});

test('a worker that ends before it serves ends the start with its exit code, and the other workers', async () => {
  const scene = makeScene(3);
  const started = scene.pool.start();
  scene.workers[0]!.say({ kind: 'prepared' });
  scene.workers[2]!.end(2);
  await expect(started).rejects.toEqual(new WorkerStartError(2));
  expect(scene.workers.map(({ signals }) => signals)).toEqual([['SIGKILL'], ['SIGKILL'], []]);
  jest.advanceTimersByTime(60_000);
  expect(scene.workers).toHaveLength(3);
});

test('a worker that ends is restarted at growing intervals, and at once after a good run', async () => {
  const scene = makeScene(2);
  await startAll(scene);
  const waits: number[] = [];
  for (let ends = 0; ends < 9; ends += 1) {
    const before = scene.workers.length;
    scene.workers.at(-1)!.end(null, 'SIGKILL');
    await settled();
    let waitedMs = 0;
    for (; scene.workers.length === before && waitedMs < 60_000; waitedMs += 100) jest.advanceTimersByTime(100);
    waits.push(waitedMs);
  }
  expect(waits).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
  expect(scene.log[0]).toBe('worker 2 ended (SIGKILL); restart in 200 ms');
  scene.workers.at(-1)!.say({ kind: 'prepared' });
  await settled();
  scene.workers.at(-1)!.say({ kind: 'ready', ports: PORTS });
  scene.nowMs += 10_000;
  scene.workers.at(-1)!.end(1);
  jest.advanceTimersByTime(100);
  expect(scene.restarts).toBe(10);
  expect(scene.pool.size).toBe(1);
});

test.each(['reports an error', 'is thrown'])(
  'a worker that cannot be restarted, which %s, is logged and retried at growing intervals',
  async (how) => {
    const scene = makeScene(2);
    await startAll(scene);
    if (how === 'is thrown') scene.forkError = new Error('spawn node EAGAIN');
    scene.workers[1]!.end(null, 'SIGKILL');
    await settled();
    for (let tries = 0; tries < 7; tries += 1) {
      jest.advanceTimersToNextTimer();
      if (how !== 'is thrown') scene.workers.at(-1)!.fail();
      await settled();
    }
    expect(scene.log.map((line) => line.replace('; restart in', ':'))).toEqual([
      'worker 2 ended (SIGKILL): 200 ms',
      ...[400, 800, 1600, 3200, 5000, 5000, 5000].map((waitMs) => `could not start a worker process: spawn node EAGAIN: ${waitMs} ms`),
    ]);
    expect([scene.restarts, scene.pool.size]).toEqual([7, 1]);
    scene.forkError = undefined;
    jest.advanceTimersByTime(5_000);
    scene.workers.at(-1)!.say({ kind: 'prepared' });
    await settled();
    scene.workers.at(-1)!.say({ kind: 'ready', ports: PORTS });
    expect(scene.pool.size).toBe(2);
    // And a drain waits for those that there are.
    const drained = scene.pool.drain({ timeoutMs: 1_000 });
    for (const worker of scene.workers.filter(({ process }) => process.pid !== undefined)) worker.end(0);
    await drained;
  },
);

test('a worker that cannot start at all ends the start, and the other workers', async () => {
  const scene = makeScene(2);
  const started = scene.pool.start();
  scene.workers[1]!.fail();
  await expect(started).rejects.toThrow('could not start a worker process: spawn node EAGAIN');
  expect(scene.workers[0]!.signals).toEqual(['SIGKILL']);
  const none = makeScene(2);
  none.forkError = new Error('spawn node ENOMEM');
  await expect(none.pool.start()).rejects.toMatchObject({ exitCode: 1, message: 'could not start a worker process: spawn node ENOMEM' });
});

test('a drain reaches workers that serve, ends those that do not, and starts none', async () => {
  const scene = makeScene(2);
  await startAll(scene);
  scene.workers[1]!.end(1);
  await settled();
  jest.advanceTimersByTime(200);
  const drained = scene.pool.drain({ timeoutMs: 1_000 });
  expect(scene.workers[0]!.told.at(-1)).toEqual({ kind: 'drain' });
  expect(scene.workers[2]!.signals).toEqual(['SIGKILL']);
  scene.workers[0]!.end(0);
  await drained;
  jest.advanceTimersByTime(60_000);
  expect(scene.workers).toHaveLength(3);
  expect(scene.ended).toEqual([2, 3, 1]);
});

test('a worker that does not end is killed after the drain time and a margin', async () => {
  const scene = makeScene(2);
  await startAll(scene);
  const drained = scene.pool.drain({ timeoutMs: 1_000 });
  scene.workers[0]!.end(0);
  jest.advanceTimersByTime(2_999);
  expect(scene.workers[1]!.signals).toEqual([]);
  jest.advanceTimersByTime(1);
  await drained;
  expect(scene.workers[1]!.signals).toEqual(['SIGKILL']);
});

test('the last report of a worker counts although it is read later, and nothing counts after its end', async () => {
  const scene = makeScene(1);
  await startAll(scene);
  const [worker] = scene.workers;
  const drained = scene.pool.drain({ timeoutMs: 1_000 });
  worker!.exit(0);
  await settled();
  expect([scene.heard, scene.ended]).toEqual([[], []]);
  worker!.say({ kind: 'metrics', snapshot: { few: [], columns: [] } });
  worker!.disconnect();
  await drained;
  expect([scene.heard, scene.ended]).toEqual([[1], [1]]);
  worker!.say({ kind: 'metrics', snapshot: { few: [], columns: [] } });
  expect(scene.heard).toEqual([1]);
});

test('an unclosed pipe is waited for up to a bound', async () => {
  const scene = makeScene(2);
  await startAll(scene);
  scene.workers[1]!.exit(1);
  jest.advanceTimersByTime(999);
  expect(scene.ended).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(scene.ended).toEqual([2]);
  scene.workers[1]!.disconnect();
  jest.advanceTimersByTime(60_000);
  expect([scene.ended, scene.restarts]).toEqual([[2], 1]);
});
