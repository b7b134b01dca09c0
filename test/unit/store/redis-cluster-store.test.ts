/** The client of a Redis Cluster finds all nodes from one seed, follows their changes, and fails only the parts of a failed node. */

import { ErrorReply } from '@redis/client';
import type { Group, Adjustment } from '../../../src/domain/bucket/take';
import type { NodeAddress } from '../../../src/state/store/redis/cluster-slots';
import { MeasuredStore } from '../../../src/state/store/layers/measured-store';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { describeAddress } from '../../../src/state/store/redis/client/address';
import type { ConnectionState } from '../../../src/state/store/redis/client/redis-connection';
import { redirectOf } from '../../../src/state/store/redis/client/redirect-error';
import { RedisClusterStore } from '../../../src/state/store/redis/cluster/redis-cluster-store';
import type { GroupOutcome, Store, TakeOptions } from '../../../src/state/store/port/store';
import { StoreError } from '../../../src/state/store/port/store-error';
import { groupOf, adjustment, take } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { until } from '../../support/clock/until';

const OP_TIMEOUT_MS = 300;
const A: NodeAddress = { host: 'a', port: 1 };
const B: NodeAddress = { host: 'b', port: 2 };
const C: NodeAddress = { host: 'c', port: 3 };

/** Slots 0 to 8191, and the rest. */
const LOW = '{bar}';
const HIGH = '{foo}';

/** Who has the slots, by the word of every node. */
let table: unknown;
let nodes: Map<string, ScriptedNode>;
let states: ConnectionState[];
let redirects: string[];
let unasked: string[];
let store: RedisClusterStore;

/** Answers as it is told, else out of its memory. */
class ScriptedNode implements Store {
  readonly memory = new MemoryStore({ nowUs: () => 0, bucketsMax: 100 });
  readonly calls: string[] = [];
  readonly answers: (Error | 'never')[] = [];
  slotsAsked = 0;
  slotsAnswer: () => unknown = () => table;
  isClosed = false;
  isInUse = true;
  find: () => void = () => undefined;

  constructor(
    readonly address: NodeAddress,
    readonly onConnection: (state: ConnectionState) => void,
  ) {}

  /** The node for slots that it is importing. */
  get importing(): Store {
    return {
      take: (groups) => this.take(groups, true),
      adjust: (adjustments) => this.adjust(adjustments, true),
      close: () => this.close(),
    };
  }

  take(groups: readonly Group[], isAsking: unknown): Promise<readonly GroupOutcome[]> {
    return this.answer(
      groups.map(({ takes }) => takes.map(({ bucketKey }) => bucketKey).join('+')),
      isAsking === true,
      () => this.memory.take(groups),
    );
  }

  adjust(adjustments: readonly Adjustment[], isAsking: unknown): Promise<readonly number[]> {
    return this.answer(
      adjustments.map(({ bucketKey }) => `=${bucketKey}`),
      isAsking === true,
      () => this.memory.adjust(adjustments),
    );
  }

  beat(name: string): Promise<number> {
    return this.answer([`beat ${name}`], false, () => Promise.resolve(3));
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }

  private answer<T>(what: readonly string[], isAsking: boolean, answer: () => Promise<T>): Promise<T> {
    this.calls.push(`${isAsking ? 'asking ' : ''}${what.join(' ')}`);
    const scripted = this.answers.shift();
    if (scripted === 'never') return new Promise(() => undefined);
    return scripted === undefined ? answer() : Promise.reject(scripted);
  }
}

function redirect(message: string): StoreError {
  return redirectOf(new ErrorReply(message))!;
}

/** Every node connects at once, but for those named here. */
function open(seeds: readonly NodeAddress[], late: readonly NodeAddress[] = []): RedisClusterStore {
  nodes = new Map();
  states = [];
  redirects = [];
  unasked = [];
  return new RedisClusterStore({
    seeds,
    timeoutMs: OP_TIMEOUT_MS,
    connectTimeoutMs: 1_000,
    onConnection: (state) => states.push(state),
    onRedirect: (kind) => redirects.push(kind),
    onUnasked: (reason) => unasked.push(reason),
    makeNode: (address, onConnection) => {
      const node = new ScriptedNode(address, onConnection);
      nodes.set(describeAddress(address), node);
      const connect = () =>
        new Promise<void>((resolve) => {
          node.find = () => {
            onConnection({ connected: true });
            resolve();
          };
          if (!late.some((each) => describeAddress(each) === describeAddress(address))) setImmediate(node.find);
        });
      const readSlots = () =>
        new Promise((resolve) => {
          node.slotsAsked += 1;
          resolve(node.slotsAnswer());
        });
      return {
        store: node,
        importing: node.importing,
        connect,
        readSlots,
        beat: ({ name }) => node.beat(name),
        run: () => Promise.reject(new Error('not asked')),
        isThere: () => true,
        setInUse: (isInUse) => {
          node.isInUse = isInUse;
        },
      };
    },
  });
}

function node(address: NodeAddress): ScriptedNode {
  return nodes.get(describeAddress(address))!;
}

async function ask(key: string, options?: TakeOptions): Promise<GroupOutcome> {
  const [outcome] = await store.take([groupOf([take(key)])], options);
  return outcome!;
}

function slots(low: NodeAddress, high: NodeAddress): unknown {
  return [
    [0, 8_191, [low.host, low.port, 'id']],
    [8_192, 16_383, [high.host, high.port, 'id']],
  ];
}

beforeEach(async () => {
  table = slots(A, B);
  store = open([A]);
  await store.connect({ waitMs: 3_000 });
});

afterEach(() => store.close());

test('one seed is enough: the client reads the slots and connects to every primary', async () => {
  expect([...nodes.keys()]).toEqual(['a:1', 'b:2']);
  expect(states.at(-1)).toEqual({ connected: true });
  decided(await ask(LOW));
  decided(await ask(HIGH));
  expect([node(A).calls, node(B).calls]).toEqual([[LOW], [HIGH]]);
});

test('a call whose node was not found in time has surely not run', async () => {
  const late = open([A], [B]);
  await Promise.all([late.connect({ waitMs: 100 }), store.close()]);
  store = late;
  await expect(store.adjust([adjustment(HIGH)], { timeoutMs: 50 })).rejects.toMatchObject({ reason: 'timeout', mayHaveRun: false });
  expect(node(B).calls).toEqual([]);
});

test('groups of several slots are one call to each node, answered in order', async () => {
  const outcomes = await store.take([HIGH, LOW, HIGH].map((key) => groupOf([take(key, { hits: 2 })])));
  expect(outcomes.map((outcome) => decided(outcome).verdicts[0]!.remaining)).toEqual([8, 8, 6]);
  expect([node(A).calls, node(B).calls]).toEqual([[LOW], [`${HIGH} ${HIGH}`]]);
});

test('a failed part fails alone, and if all fail the call throws', async () => {
  const gone = new StoreError('gone', 'connection');
  node(B).answers.push(gone, gone);
  const outcomes = await store.take([groupOf([take(HIGH)]), groupOf([take(LOW)])]);
  expect([outcomes[0], decided(outcomes[1]).overLimit]).toEqual([gone, false]);
  await expect(store.take([groupOf([take(HIGH)])])).rejects.toBe(gone);
});

test('an adjustment goes to the node of its bucket, and a failed one fails alone', async () => {
  const gone = new StoreError('gone', 'connection');
  node(B).answers.push(gone);
  expect(await store.adjust([adjustment(HIGH, { hits: 3 }), adjustment(LOW, { hits: 4 })])).toEqual([gone, 4]);
});

test('a heartbeat goes to the node of its key, and follows it', async () => {
  node(A).answers.push(redirect('MOVED 1 b:2'));
  const heartbeat = { key: `${LOW}weir:instances`, name: 'me', lives: true, ttlMs: 1, instancesMax: 9 };
  expect(await store.beat(heartbeat)).toBe(3);
  expect([node(A).calls, node(B).calls]).toEqual([['beat me'], ['beat me']]);
});

describe('a redirect', () => {
  test('MOVED is followed at once and remembered, and the slots are read again', async () => {
    node(A).answers.push(redirect(`MOVED 5061 ${B.host}:${B.port}`));
    table = slots(B, B);
    const asked = node(A).slotsAsked + node(B).slotsAsked;
    decided(await ask(LOW));
    decided(await ask(LOW));
    expect([node(A).calls, node(B).calls, redirects]).toEqual([[LOW], [LOW, LOW], ['moved']]);
    await until(() => node(A).slotsAsked + node(B).slotsAsked > asked);
  });

  test('a redirect to an unknown node waits for its connection', async () => {
    await store.close();
    store = open([A], [C]);
    await store.connect({ waitMs: 3_000 });
    node(A).answers.push(redirect('MOVED 5061 c:3'));
    const made = store.take([groupOf([take(LOW)])]);
    await until(() => nodes.has('c:3'));
    setImmediate(() => {
      node(C).find();
    });
    decided((await made)[0]);
    expect(node(C).calls).toEqual([LOW]);
  });

  test('a redirect to a node that does not connect in time is a timeout', async () => {
    await store.close();
    store = open([A], [C]);
    await store.connect({ waitMs: 3_000 });
    node(A).answers.push(redirect('MOVED 5061 c:3'));
    await expect(ask(LOW, { timeoutMs: 30 })).rejects.toMatchObject({ reason: 'timeout' });
  });

  test('ASK applies to this call alone, with ASKING for the node', async () => {
    node(A).answers.push(redirect('ASK 5061 b:2'));
    decided(await ask(LOW));
    decided(await ask(LOW));
    expect([node(A).calls, node(B).calls, redirects]).toEqual([[LOW, LOW], [`asking ${LOW}`], ['ask']]);
  });

  test('a redirect without a host goes to another port of the same host', async () => {
    node(A).answers.push(redirect('MOVED 5061 :9'));
    decided(await ask(LOW));
    expect(nodes.get('a:9')!.calls).toEqual([LOW]);
  });

  test('a redirect to an IPv6 address works', async () => {
    node(A).answers.push(redirect('MOVED 5061 ::1:7000'));
    decided(await ask(LOW));
    expect(nodes.get('[::1]:7000')!.calls).toEqual([LOW]);
  });

  test('circular redirects end', async () => {
    for (let i = 0; i < 10; i += 1) {
      node(A).answers.push(redirect('MOVED 5061 b:2'));
      node(B).answers.push(redirect('MOVED 5061 a:1'));
    }
    await expect(ask(LOW)).rejects.toMatchObject({
      reason: 'connection',
      message: 'no known node of the Redis Cluster owns the slot of this bucket',
    });
    expect(redirects).toHaveLength(6);
    expect(unasked).toEqual(['connection']);
  });

  test('a redirect is not a failure of the node', async () => {
    expect(redirect('MOVED 1 b:2').reason).toBe('redirected');
    expect(redirect('TRYAGAIN Multiple keys request during rehashing of slot').reason).toBe('redirected');
    expect(redirectOf(new ErrorReply('CLUSTERDOWN The cluster is down'))).toBeUndefined();
    const asked = node(A).slotsAsked + node(B).slotsAsked;
    node(A).answers.push(new StoreError('Redis answered the error CLUSTERDOWN', 'script'));
    await expect(ask(LOW)).rejects.toMatchObject({ reason: 'script' });
    await until(() => node(A).slotsAsked + node(B).slotsAsked > asked);
  });
});

test('a redirect is not measured as an error', async () => {
  const reasons: string[] = [];
  const measured = new MeasuredStore(store, { onCall: () => undefined, onError: (reason) => reasons.push(reason) });
  node(A).answers.push(redirect('TRYAGAIN Multiple keys request during rehashing of slot'), new StoreError('gone', 'connection'));
  for (let i = 0; i < 2; i += 1) await expect(measured.take([groupOf([take(LOW)])])).rejects.toBeInstanceOf(StoreError);
  expect(reasons).toEqual(['connection']);
});

test('several groups of a slot in migration are called one by one, in order', async () => {
  const torn = redirect('TRYAGAIN Multiple keys request during rehashing of slot');
  node(A).answers.push(torn);
  const outcomes = await store.take([groupOf([take(LOW, { hits: 9 })]), groupOf([take(LOW)]), groupOf([take(LOW)])]);
  expect(outcomes.map((outcome) => decided(outcome).overLimit)).toEqual([false, false, true]);
  expect(node(A).calls).toEqual([`${LOW} ${LOW} ${LOW}`, LOW, LOW, LOW]);
  // A single one is for whoever can split it.
  node(A).answers.push(torn);
  await expect(ask(LOW)).rejects.toBe(torn);
});

test('after the loss of a node the others are asked for the slots, at a bounded rate', async () => {
  table = slots(C, B);
  node(A).onConnection({ connected: false, cause: 'Socket closed' });
  expect(states.at(-1)).toEqual({ connected: false, cause: 'a:1: Socket closed' });
  await until(() => states.at(-1)?.connected === true);
  expect(nodes.has('c:3')).toBe(true);
  decided(await ask(LOW));
  expect(node(C).calls).toEqual([LOW]);
  expect([A, B, C].map((address) => node(address).isInUse)).toEqual([false, true, true]);
  const asked = node(A).slotsAsked + node(B).slotsAsked + node(C).slotsAsked;
  const startedMs = performance.now();
  while (performance.now() - startedMs < 450) {
    node(A).onConnection({ connected: false, cause: 'Socket closed' });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  // Every 200 ms.
  expect(node(A).slotsAsked + node(B).slotsAsked + node(C).slotsAsked - asked).toBeLessThanOrEqual(
    1 + Math.floor((performance.now() - startedMs) / 200),
  );
});

test('a look at the slots says whether they have other owners, or a node has connected', async () => {
  const lookAgain = async () => {
    const [asked, reported] = [node(A).slotsAsked + node(B).slotsAsked, states.length];
    node(A).answers.push(new StoreError('no answer', 'timeout'));
    await ask(LOW).catch((error: unknown) => error);
    await until(() => node(A).slotsAsked + node(B).slotsAsked > asked && states.length > reported);
  };
  await lookAgain();
  await lookAgain();
  expect(states.at(-1)).toEqual({ connected: true, isUnchanged: true });
  table = slots(B, A);
  await lookAgain();
  expect(states.at(-1)).toEqual({ connected: true });
  await lookAgain();
  expect(states.at(-1)).toEqual({ connected: true, isUnchanged: true });
});

test('a node outside of the cluster, or without an answer, does not erase the known slots', async () => {
  node(A).slotsAnswer = () => [];
  node(B).slotsAnswer = () => new Promise(() => undefined);
  const asked = node(A).slotsAsked;
  node(B).onConnection({ connected: true });
  await until(() => node(A).slotsAsked > asked);
  decided(await ask(LOW));
  decided(await ask(HIGH));
});

test('a server outside of a cluster gets no decision, and is logged', async () => {
  await store.close();
  table = [];
  store = open([A]);
  await store.connect({ waitMs: 50 });
  await until(() => states.at(-1)?.cause === 'a:1: it does not belong to a cluster');
  await expect(ask(LOW)).rejects.toMatchObject({ message: 'no known node of the Redis Cluster owns the slot of this bucket' });
  expect(node(A).calls).toEqual([]);
});

test('a closed client closes every node and opens none', async () => {
  node(A).answers.push(redirect('MOVED 5061 c:3'));
  await store.close();
  await expect(ask(LOW)).rejects.toBeInstanceOf(StoreError);
  expect([node(A).isClosed, node(B).isClosed, nodes.has('c:3')]).toEqual([true, true, false]);
});

test('a client that is closed before it connects does not wait to connect', async () => {
  const unopened = open([C]);
  await unopened.close();
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  try {
    const connecting = unopened.connect({ waitMs: 60_000 });
    expect(jest.getTimerCount()).toBe(0);
    await connecting;
  } finally {
    jest.useRealTimers();
  }
});
