/** A Redis Cluster as one store: sends each group to the node that owns its slot, and follows redirects. */

import { setTimeout } from 'node:timers/promises';
import type { Group, Adjustment } from '../../../../domain/bucket/take';
import { monotonicNowMs } from '../../../../lib/clock';
import { askByPart } from '../../layers/ask-by-part';
import { ClusterNodes, type ClusterNode, type ClusterNodesOptions, type KnownNode } from './cluster-nodes';
import { slotOf, slotOfGroup } from '../cluster-slots';
import type { BeatInput, RunOptions, ScriptRun } from '../redis-store';
import { RedirectError, type Redirect } from '../client/redirect-error';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../../port/store';
import { isMoving, StoreError, storeErrorOf, type StoreErrorReason } from '../../port/store-error';
import { TimeLeft, within } from '../../port/time-left';

export interface RedisClusterStoreOptions extends ClusterNodesOptions {
  /** Deadline of a call, redirects included, in milliseconds; less if the caller has less time left. */
  readonly timeoutMs: number;
  /** Called for every redirect. */
  readonly onRedirect: (kind: Redirect['kind']) => void;
  /** Called for a call that failed without being sent to a node. */
  readonly onUnasked: (reason: StoreErrorReason) => void;
}

/** Most redirects of one call. Two nodes that swap roles redirect to each other for a moment. */
const REDIRECTS_MAX = 5;

/** A slot that has moved and is moving again causes two redirects; further ones wait for this time. */
const REDIRECTS_AT_ONCE = 2;
const REDIRECT_PAUSE_MS = 1;

/** Failures that do not indicate a failing node. */
const FAULTLESS: readonly StoreErrorReason[] = ['redirected', 'overload'];

/** All buckets of a group must belong to one slot, which `SplitStore` ensures. */
export class RedisClusterStore implements Store {
  private readonly nodes: ClusterNodes;

  constructor(private readonly options: RedisClusterStoreOptions) {
    this.nodes = new ClusterNodes(options);
  }

  /** Starts to connect, and retries until closed. Resolves when the node of every slot is connected, or after `waitMs`. */
  connect(options: { readonly waitMs: number }): Promise<void> {
    return this.nodes.connect(options);
  }

  take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    const timeLeft = this.timeLeft(options);
    const { timeoutMs, trace } = options;
    const takeIn = (slot: number, some: readonly Group[]) =>
      this.send({ slot, timeLeft, timeoutMs }, (node, sendOptions) =>
        storeFor(node, sendOptions).take(some, trace === undefined ? sendOptions : { trace, ...sendOptions }),
      );
    return askByPart<Group, GroupOutcome, number>(groups, { partOf: slotOfGroup, ask: oneByOneIfTorn(takeIn) });
  }

  adjust(adjustments: readonly Adjustment[], { timeoutMs = this.options.timeoutMs }: TakeOptions = {}): Promise<readonly AdjustOutcome[]> {
    const timeLeft = new TimeLeft(timeoutMs);
    const adjustIn = (slot: number, some: readonly Adjustment[]) =>
      this.send({ slot, timeLeft, timeoutMs }, (node, sendOptions) => storeFor(node, sendOptions).adjust(some, sendOptions));
    const partOf = ({ bucketKey }: Adjustment) => slotOf(bucketKey);
    return askByPart<Adjustment, AdjustOutcome, number>(adjustments, { partOf, ask: oneByOneIfTorn(adjustIn) });
  }

  /** Sends a heartbeat of an instance, or its leave, and returns the number of live instances. */
  beat(heartbeat: BeatInput): Promise<number> {
    const { timeoutMs } = this.options;
    return this.send({ slot: slotOf(heartbeat.key), timeLeft: this.timeLeft({}), timeoutMs }, (node, options) =>
      node.beat(heartbeat, options),
    );
  }

  /** Runs a script on the node that owns its keys, which must belong to one slot. */
  run<Answer>(call: ScriptRun<Answer>, options: TakeOptions): Promise<Answer> {
    const { timeoutMs = this.options.timeoutMs } = options;
    return this.send({ slot: slotOf(call.keys[0] ?? ''), timeLeft: new TimeLeft(timeoutMs), timeoutMs }, (node, sendOptions) =>
      node.run(call, sendOptions),
    );
  }

  /** Whether the node that owns the bucket is connected and answers, as far as is known. */
  isThere(bucketKey: string): boolean {
    return this.nodes.ownerOf(slotOf(bucketKey))?.node.isThere() === true;
  }

  close(): Promise<void> {
    return this.nodes.close();
  }

  private timeLeft({ timeoutMs = Infinity }: TakeOptions): TimeLeft {
    return new TimeLeft(Math.min(timeoutMs, this.options.timeoutMs));
  }

  /** Sends the call to the slot's node and follows redirects, which mean that nothing has run. */
  private async send<Answer>({ slot, timeLeft, ...first }: SendInput, ask: Ask<Answer>): Promise<Answer> {
    let node = this.nodes.ownerOf(slot);
    let { timeoutMs } = first;
    let asking = false;
    for (let redirects = 0; node !== undefined && redirects <= REDIRECTS_MAX; redirects += 1) {
      if (redirects > REDIRECTS_AT_ONCE) await setTimeout(REDIRECT_PAUSE_MS);
      try {
        return await this.askNode(node, { timeLeft, timeoutMs, asking, ask });
      } catch (error) {
        if (!(error instanceof RedirectError)) throw error;
        const { redirect } = error;
        this.options.onRedirect(redirect.kind);
        asking = redirect.kind === 'ask';
        timeoutMs = timeLeft.ms();
        node = this.nodes.follow({ redirect, slot, from: node });
      }
    }
    this.nodes.lookUp();
    this.options.onUnasked('connection');
    throw new StoreError('no known node of the Redis Cluster owns the slot of this bucket', 'connection', { mayHaveRun: false });
  }

  private async askNode<Answer>(known: KnownNode, { timeLeft, timeoutMs, asking, ask }: AskNodeInput<Answer>): Promise<Answer> {
    known.calls += 1;
    known.usedMs = monotonicNowMs();
    try {
      // A node that was just discovered may be connected before the deadline.
      const isLate = !known.isReady;
      if (isLate) await within(known.ready, timeLeft.ms());
      const leftMs = isLate ? timeLeft.ms() : timeoutMs;
      return await ask(known.node, { ...(leftMs !== undefined && { timeoutMs: leftMs }), asking });
    } catch (error) {
      if (!(error instanceof StoreError) || !FAULTLESS.includes(error.reason)) this.nodes.doubt(known);
      throw error;
    } finally {
      known.calls -= 1;
    }
  }
}

/** The node's store for a slot that it owns, or for one that it is importing. */
function storeFor({ store, importing }: ClusterNode, { asking }: RunOptions): Store {
  return asking === true ? importing : store;
}

type Ask<Answer> = (node: ClusterNode, options: RunOptions) => Promise<Answer>;

interface SendInput {
  readonly slot: number;
  readonly timeLeft: TimeLeft;
  /** For the first try, whose time starts when it is sent. Undefined: the node's default. */
  readonly timeoutMs: number | undefined;
}

interface AskNodeInput<Answer> {
  readonly timeLeft: TimeLeft;
  readonly timeoutMs: number | undefined;
  readonly asking: boolean;
  readonly ask: Ask<Answer>;
}

/**
 * Sends several items at once, and one by one if a slot that is being moved has split them: each item may
 * be in one place. Items that still fail get their error.
 */
function oneByOneIfTorn<Item, Answer>(
  ask: (slot: number, items: readonly Item[]) => Promise<readonly Answer[]>,
): (slot: number, items: readonly Item[]) => Promise<readonly (Answer | StoreError)[]> {
  return async (slot, items) => {
    try {
      return await ask(slot, items);
    } catch (error) {
      if (!isMoving(error) || items.length === 1) throw error;
    }
    const answers: (Answer | StoreError)[] = [];
    // In order: an item may depend on the state that the previous one left.
    for (const item of items) answers.push(...(await ask(slot, [item]).catch((error: unknown) => [storeErrorOf(error)])));
    return answers;
  };
}
