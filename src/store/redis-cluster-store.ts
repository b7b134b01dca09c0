/** A Redis Cluster as one store: each group goes to the node that has its slot, and follows a slot that moves. */

import { setTimeout } from 'node:timers/promises';
import type { Group, Settlement } from '../bucket/take';
import { askByPart, storeErrorOf } from './ask-by-part';
import { ClusterNodes, type ClusterNode, type ClusterNodesOptions, type KnownNode } from './cluster-nodes';
import { slotOf, slotOfGroup } from './cluster-slots';
import type { BeatInput, ScriptRun } from './redis-store';
import { RedirectError, TryAgainError, type Redirect } from './redirect-error';
import { StoreError, type GroupOutcome, type SettleOutcome, type Store, type StoreErrorReason, type TakeOptions } from './store';
import { TimeLeft, within } from './time-left';

export interface RedisClusterStoreOptions extends ClusterNodesOptions {
  /** Longest a call may take, redirects included, in milliseconds; a caller with less left gets less. */
  readonly timeoutMs: number;
  /** Told of every redirect. */
  readonly onRedirect: (kind: Redirect['kind']) => void;
  /** Told of a call that failed without any node's failure. */
  readonly onUnasked: (reason: StoreErrorReason) => void;
}

/** Redirects that one call follows. Two that change places send calls to each other, for a moment. */
const REDIRECTS_MAX = 5;

/** A slot that has moved and is moving on takes two; before a further one, this wait. */
const REDIRECTS_AT_ONCE = 2;
const REDIRECT_PAUSE_MS = 1;

/** Failures that say nothing against the node. */
const FAULTLESS: readonly StoreErrorReason[] = ['redirected', 'overload'];

/** All buckets of a group must be of one slot: `SplitStore` sees to that. */
export class RedisClusterStore implements Store {
  private readonly nodes: ClusterNodes;

  constructor(private readonly options: RedisClusterStoreOptions) {
    this.nodes = new ClusterNodes(options);
  }

  /** Starts to connect, and goes on trying until closed. Resolves when every slot's node is connected, or after `waitMs`. */
  connect(options: { readonly waitMs: number }): Promise<void> {
    return this.nodes.connect(options);
  }

  take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    const timeLeft = this.timeLeft(options);
    const takeIn = (slot: number, some: readonly Group[]) =>
      this.send({ slot, timeLeft, timeoutMs: options.timeoutMs }, ({ store }, sendOptions) => store.take(some, sendOptions));
    return askByPart<Group, GroupOutcome, number>(groups, { partOf: slotOfGroup, ask: oneByOneIfTorn(takeIn) });
  }

  settle(settlements: readonly Settlement[], { timeoutMs = this.options.timeoutMs }: TakeOptions = {}): Promise<readonly SettleOutcome[]> {
    const timeLeft = new TimeLeft(timeoutMs);
    const settleIn = (slot: number, some: readonly Settlement[]) =>
      this.send({ slot, timeLeft, timeoutMs }, ({ store }, sendOptions) => store.settle(some, sendOptions));
    const partOf = ({ bucketKey }: Settlement) => slotOf(bucketKey);
    return askByPart<Settlement, SettleOutcome, number>(settlements, { partOf, ask: oneByOneIfTorn(settleIn) });
  }

  /** Says in the cluster that an instance lives, or leaves; how many live. */
  beat(heartbeat: BeatInput): Promise<number> {
    const { timeoutMs } = this.options;
    return this.send({ slot: slotOf(heartbeat.key), timeLeft: this.timeLeft({}), timeoutMs }, (node, options) => node.beat(heartbeat, options));
  }

  /** What a script answers on the node that has its keys: all of one slot. */
  run(call: ScriptRun, options: TakeOptions): Promise<unknown> {
    const { timeoutMs = this.options.timeoutMs } = options;
    return this.send({ slot: slotOf(call.keys[0] ?? ''), timeLeft: new TimeLeft(timeoutMs), timeoutMs }, (node, sendOptions) => node.run(call, sendOptions));
  }

  /** Whether the node that has the bucket is connected and answers, as far as is known. */
  isThere(bucketKey: string): boolean {
    return this.nodes.ownerOf(slotOf(bucketKey))?.node.isThere() === true;
  }

  close(): Promise<void> {
    return this.nodes.close();
  }

  private timeLeft({ timeoutMs = Infinity }: TakeOptions): TimeLeft {
    return new TimeLeft(Math.min(timeoutMs, this.options.timeoutMs));
  }

  /** Asks the slot's node, and whomever it names instead: a redirect says that nothing has been run. */
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
    throw new StoreError('no node of the Redis Cluster is known to have this bucket', 'connection', { mayHaveRun: false });
  }

  private async askNode<Answer>(known: KnownNode, { timeLeft, timeoutMs, asking, ask }: AskNodeInput<Answer>): Promise<Answer> {
    known.calls += 1;
    known.usedMs = performance.now();
    try {
      // Just learned of: by the time it is connected the call may still be in time.
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

type Ask<Answer> = (node: ClusterNode, options: TakeOptions) => Promise<Answer>;

interface SendInput {
  readonly slot: number;
  readonly timeLeft: TimeLeft;
  /** Of the first try: a call that is not redirected may wait for its turn before its time runs. Undefined: the node's own. */
  readonly timeoutMs: number | undefined;
}

interface AskNodeInput<Answer> {
  readonly timeLeft: TimeLeft;
  readonly timeoutMs: number | undefined;
  readonly asking: boolean;
  readonly ask: Ask<Answer>;
}

/**
 * Asks for several items at once, and one by one if they are of a slot that is being moved and some have gone: each may
 * be in one place. What can't be answered even so is answered its error.
 */
function oneByOneIfTorn<Item, Answer>(
  ask: (slot: number, items: readonly Item[]) => Promise<readonly Answer[]>,
): (slot: number, items: readonly Item[]) => Promise<readonly (Answer | StoreError)[]> {
  return async (slot, items) => {
    try {
      return await ask(slot, items);
    } catch (error) {
      if (!(error instanceof TryAgainError) || items.length === 1) throw error;
    }
    const answers: (Answer | StoreError)[] = [];
    // In their order: an item may be decided on what the last one left.
    for (const item of items) answers.push(...(await ask(slot, [item]).catch((error: unknown) => [storeErrorOf(error)])));
    return answers;
  };
}
