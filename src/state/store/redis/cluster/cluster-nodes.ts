/** The known nodes of a Redis Cluster, and the owner of each slot, which is looked up again when it may have changed. */

import { knownHost, NODES_MAX, parseClusterSlots, SLOTS, type NodeAddress, type SlotRange } from '../cluster-slots';
import { monotonicNowMs } from '../../../../lib/clock';
import { asError } from '../../../../lib/errors';
import { describeAddress } from '../client/address';
import type { ConnectionState } from '../client/redis-connection';
import type { Redirect } from '../client/redirect-error';
import type { BeatInput, RunOptions, ScriptRun } from '../redis-store';
import type { Store } from '../../port/store';
import { within } from '../../port/time-left';

/** One node, as src/program/app creates it. */
export interface ClusterNode {
  /** The node with its layers. */
  readonly store: Store;
  /** The same for buckets of a slot that the node is importing. Calls are not batched. */
  readonly importing: Store;
  /** Starts to connect, and retries until the store is closed. Resolves when connected, or after `waitMs`. */
  connect(options: { readonly waitMs: number }): Promise<void>;
  /** Sends a heartbeat of an instance, or its leave, and returns the number of live instances. */
  beat(heartbeat: BeatInput, options: RunOptions): Promise<number>;
  /** Runs a script on the node. */
  run<Answer>(call: ScriptRun<Answer>, options: RunOptions): Promise<Answer>;
  /** Whether it is connected and answers, as far as is known. */
  isThere(): boolean;
  /** Called when it gets its first slot, or loses its last one; before that it is in use. */
  setInUse(isInUse: boolean): void;
  /** The reply to CLUSTER SLOTS. */
  readSlots(): Promise<unknown>;
}

export interface ClusterNodesOptions {
  /** Kept for ever, whether or not they own slots. */
  readonly seeds: readonly NodeAddress[];
  readonly makeNode: (address: NodeAddress, onConnection: (state: ConnectionState) => void) => ClusterNode;
  readonly connectTimeoutMs: number;
  /** `connected`: the slots are known, and every primary with slots is connected. */
  readonly onConnection: (state: ConnectionState) => void;
}

/** Minimum interval of lookups of the slots. */
const LOOK_UP_MS_MIN = 200;

/** Maximum interval of lookups. */
const LOOK_UP_MS_MAX = 30_000;

/** Longest wait for the reply of one node, and number of nodes to ask in one lookup. */
const ANSWER_MS_MAX = 250;
const ASKED_MAX = 3;

/** A node without slots is closed after this time without calls; not earlier, because it may be about to import slots. */
const IDLE_MS_MAX = 10_000;

export class KnownNode {
  connected = false;
  /** Connected once, or its first attempt has timed out. */
  isReady = false;
  /** Failed to answer the last time. */
  isDoubted = false;
  cause: string | undefined;
  calls = 0;
  usedMs = monotonicNowMs();
  ready: Promise<void> = Promise.resolve();
  private isInUse = true;

  constructor(
    readonly address: NodeAddress,
    readonly isSeed: boolean,
    readonly node: ClusterNode,
  ) {}

  setInUse(isInUse: boolean): void {
    if (isInUse === this.isInUse) return;
    this.isInUse = isInUse;
    this.node.setInUse(isInUse);
  }
}

export class ClusterNodes {
  private readonly nodes = new Map<string, KnownNode>();
  private readonly owners = new Array<KnownNode | undefined>(SLOTS);
  /** Every node with a slot; empty before the first reply. */
  private owning: ReadonlySet<KnownNode> = new Set();
  private isClosed = false;
  private lookedUpMs = -LOOK_UP_MS_MIN;
  private isLookingUp = false;
  /** Number of requested lookups. */
  private requested = 0;
  private turn = 0;
  private cause: string | undefined;
  /** Whether a node has connected, or a slot has another owner, since the last report: what is remembered of buckets may be obsolete. */
  private hasChanged = true;
  private timer: NodeJS.Timeout | undefined;
  private readonly regularly: NodeJS.Timeout;
  private onWhole: (() => void) | undefined;

  constructor(private readonly options: ClusterNodesOptions) {
    this.regularly = setInterval(() => {
      this.lookUp();
    }, LOOK_UP_MS_MAX);
    this.regularly.unref();
  }

  /** Resolves when the node of every slot is connected, or after `waitMs`. */
  async connect({ waitMs }: { readonly waitMs: number }): Promise<void> {
    if (this.isClosed) return;
    let timer: NodeJS.Timeout | undefined;
    const whole = new Promise<void>((resolve) => {
      this.onWhole = resolve;
      timer = setTimeout(resolve, waitMs);
    });
    for (const seed of this.options.seeds) this.nodeAt(seed);
    await whole;
    clearTimeout(timer);
  }

  ownerOf(slot: number): KnownNode | undefined {
    return this.owners[slot];
  }

  /** The target of a redirect. Remembers the new owner of a moved slot. */
  follow({ redirect, slot, from }: FollowInput): KnownNode | undefined {
    const node = this.nodeAt({ host: knownHost(redirect.host, from.address.host), port: redirect.port });
    if (redirect.kind === 'moved') {
      this.lookUp();
      if (node !== undefined && node !== this.owners[slot]) {
        this.owners[slot] = node;
        this.hasChanged = true;
      }
    }
    return node;
  }

  /** Notes a failure of a node: later lookups prefer other nodes, and its slots are looked up again. */
  doubt(node: KnownNode): void {
    node.isDoubted = true;
    this.lookUp();
  }

  /** Schedules a lookup of the slots: soon, only one at a time, with a minimum interval. */
  lookUp(): void {
    this.requested += 1;
    if (this.isClosed || this.isLookingUp || this.timer !== undefined) return;
    const waitMs = Math.max(0, this.lookedUpMs + LOOK_UP_MS_MIN - monotonicNowMs());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.ask();
    }, waitMs);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.regularly);
    clearTimeout(this.timer);
    this.onWhole?.();
    await Promise.all([...this.nodes.values()].map(({ node }) => node.store.close()));
  }

  /** Undefined if there are too many nodes already. */
  private nodeAt(address: NodeAddress): KnownNode | undefined {
    const name = describeAddress(address);
    const known = this.nodes.get(name);
    if (known !== undefined) return known;
    if (this.isClosed || this.nodes.size >= NODES_MAX) return undefined;
    const isSeed = this.options.seeds.some((seed) => describeAddress(seed) === name);
    const made = new KnownNode(
      address,
      isSeed,
      this.options.makeNode(address, (state) => {
        this.update(made, state);
      }),
    );
    this.nodes.set(name, made);
    made.ready = made.node.connect({ waitMs: this.options.connectTimeoutMs }).then(() => {
      made.isReady = true;
    });
    return made;
  }

  private update(node: KnownNode, { connected, cause }: ConnectionState): void {
    node.connected = connected;
    this.hasChanged ||= connected;
    node.isDoubted = !connected;
    node.cause = cause;
    // A new node may know more than others; the slots of a lost one may have moved.
    this.lookUp();
    this.report();
  }

  private async ask(): Promise<void> {
    this.isLookingUp = true;
    const { requested } = this;
    this.lookedUpMs = monotonicNowMs();
    const connected = [...this.nodes.values()].filter((node) => node.connected);
    this.turn += 1;
    const inTurn = connected.map((_, i) => connected[(i + this.turn) % connected.length]).filter((node) => node !== undefined);
    const trusted = [...inTurn.filter((node) => !node.isDoubted), ...inTurn.filter((node) => node.isDoubted)];
    for (const node of trusted.slice(0, ASKED_MAX)) {
      if (await this.learnFrom(node)) break;
    }
    this.isLookingUp = false;
    this.report();
    // Lookups requested during this one may need newer data.
    if (this.requested > requested && connected.length > 0) this.lookUp();
  }

  /** True if the node provided the slots. */
  private async learnFrom(node: KnownNode): Promise<boolean> {
    try {
      const ranges = parseClusterSlots(await within(node.node.readSlots(), ANSWER_MS_MAX), node.address.host);
      if (ranges !== undefined) {
        this.learn(ranges);
        this.dropIdle();
        this.cause = undefined;
        node.isDoubted = false;
        return true;
      }
      this.cause = `${describeAddress(node.address)}: it does not belong to a cluster`;
    } catch (error) {
      this.cause = `${describeAddress(node.address)}: CLUSTER SLOTS: ${asError(error).message}`;
    }
    node.isDoubted = true;
    return false;
  }

  private learn(ranges: readonly SlotRange[]): void {
    if (this.isClosed) return;
    const owning = new Set<KnownNode>();
    const before = [...this.owners];
    this.owners.fill(undefined);
    for (const { first, last, primary } of ranges) {
      const node = this.nodeAt(primary);
      if (node === undefined) continue;
      owning.add(node);
      this.owners.fill(node, first, last + 1);
    }
    this.owning = owning;
    this.hasChanged ||= before.some((node, slot) => node !== this.owners[slot]);
    for (const known of this.nodes.values()) known.setInUse(owning.has(known));
  }

  /** Closes idle nodes, except those with calls in flight. */
  private dropIdle(): void {
    const nowMs = monotonicNowMs();
    for (const [name, known] of this.nodes) {
      if (known.isSeed || this.owning.has(known) || known.calls > 0 || nowMs - known.usedMs < IDLE_MS_MAX) continue;
      this.nodes.delete(name);
      void known.node.store.close();
    }
  }

  private report(): void {
    if (this.isClosed) return;
    const cause = this.whyNotWhole();
    if (cause !== undefined) {
      this.options.onConnection({ connected: false, cause });
      return;
    }
    if (this.owning.size === 0 || [...this.owning].some((node) => !node.connected)) return;
    this.onWhole?.();
    this.options.onConnection({ connected: true, ...(!this.hasChanged && { isUnchanged: true }) });
    this.hasChanged = false;
  }

  /** Undefined also before any failure, while a node is still being connected or asked. */
  private whyNotWhole(): string | undefined {
    const [culprit] = [...this.owning].filter(isLost);
    if (culprit !== undefined) return describeLost(culprit);
    if (this.owning.size > 0) return undefined;
    // No node has reported slots yet: one seed that answers is enough.
    const seeds = [...this.nodes.values()];
    const [seed] = seeds;
    return this.cause ?? (seed !== undefined && seeds.every(isLost) ? describeLost(seed) : undefined);
  }
}

function isLost({ connected, cause }: KnownNode): boolean {
  return !connected && cause !== undefined;
}

function describeLost({ address, cause }: KnownNode): string {
  return `${describeAddress(address)}: ${cause ?? 'lost'}`;
}

interface FollowInput {
  readonly redirect: Redirect;
  readonly slot: number;
  readonly from: KnownNode;
}
