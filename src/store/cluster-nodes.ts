/** The nodes of a Redis Cluster that are known, and which of them has which slot: learned, and looked up again. */

import { knownHost, NODES_MAX, parseClusterSlots, SLOTS, type NodeAddress, type SlotRange } from './cluster-slots';
import { asError } from '../errors';
import { describeAddress } from './describe-address';
import type { ConnectionState } from './redis-connection';
import type { Redirect } from './redirect-error';
import type { BeatInput, ScriptRun } from './redis-store';
import type { Store, TakeOptions } from './store';
import { within } from './time-left';

/** One node, as app.ts makes it. */
export interface ClusterNode {
  /** All that wraps a node, around the node. */
  readonly store: Store;
  /** Starts to connect, and goes on trying until the store is closed. Resolves when connected, or after `waitMs`. */
  connect(options: { readonly waitMs: number }): Promise<void>;
  /** Says there that an instance lives, or leaves; how many live. */
  beat(heartbeat: BeatInput, options: TakeOptions): Promise<number>;
  /** What a script answers there. */
  run(call: ScriptRun, options: TakeOptions): Promise<unknown>;
  /** Whether it is connected and answers, as far as is known. */
  isThere(): boolean;
  /** What it answers to CLUSTER SLOTS. */
  readSlots(): Promise<unknown>;
}

export interface ClusterNodesOptions {
  /** Kept for always, whoever has the slots. */
  readonly seeds: readonly NodeAddress[];
  readonly makeNode: (address: NodeAddress, onConnection: (state: ConnectionState) => void) => ClusterNode;
  readonly connectTimeoutMs: number;
  /** Connected: the slots are known, and each primary that has some is connected. */
  readonly onConnection: (state: ConnectionState) => void;
}

/** The slots are not looked up more often than this. */
const LOOK_UP_MS_MIN = 200;

/** Nor less often. */
const LOOK_UP_MS_MAX = 30_000;

/** Longest wait for one node to say who has the slots, and how many are asked before it is given up for now. */
const ANSWER_MS_MAX = 250;
const ASKED_MAX = 3;

/** A node without slots is let go when it has not been asked for so long: one that is to get slots has none yet. */
const IDLE_MS_MAX = 10_000;

export class KnownNode {
  connected = false;
  /** Has been connected once, or has had the time for it. */
  isReady = false;
  /** Did not answer, the last time. */
  isDoubted = false;
  cause: string | undefined;
  calls = 0;
  usedMs = performance.now();
  ready: Promise<void> = Promise.resolve();

  constructor(
    readonly address: NodeAddress,
    readonly isSeed: boolean,
    readonly node: ClusterNode,
  ) {}
}

export class ClusterNodes {
  private readonly nodes = new Map<string, KnownNode>();
  private readonly owners = new Array<KnownNode | undefined>(SLOTS);
  /** Every node that has a slot; none before the first answer. */
  private owning: ReadonlySet<KnownNode> = new Set();
  private isClosed = false;
  private askedMs = -LOOK_UP_MS_MIN;
  private isAsking = false;
  /** How often it was asked for. */
  private asked = 0;
  private turn = 0;
  private cause: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly regularly: NodeJS.Timeout;
  private onWhole: (() => void) | undefined;

  constructor(private readonly options: ClusterNodesOptions) {
    this.regularly = setInterval(() => { this.lookUp(); }, LOOK_UP_MS_MAX);
    this.regularly.unref();
  }

  /** Resolves when every slot's node is connected, or after `waitMs`. */
  async connect({ waitMs }: { readonly waitMs: number }): Promise<void> {
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

  /** Where a node sends us. A slot that has moved is remembered. */
  follow({ redirect, slot, from }: FollowInput): KnownNode | undefined {
    const node = this.nodeAt({ host: knownHost(redirect.host, from.address.host), port: redirect.port });
    if (redirect.kind === 'moved') {
      this.lookUp();
      if (node !== undefined) this.owners[slot] = node;
    }
    return node;
  }

  /** A node did not answer as it should: others are asked first, and who has its slots now. */
  doubt(node: KnownNode): void {
    node.isDoubted = true;
    this.lookUp();
  }

  /** Looks up who has which slots: soon, never twice at once, and not more often than it is worth. */
  lookUp(): void {
    this.asked += 1;
    if (this.isClosed || this.isAsking || this.timer !== undefined) return;
    const waitMs = Math.max(0, this.askedMs + LOOK_UP_MS_MIN - performance.now());
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

  /** Undefined if there are too many already. */
  private nodeAt(address: NodeAddress): KnownNode | undefined {
    const name = describeAddress(address);
    const known = this.nodes.get(name);
    if (known !== undefined) return known;
    if (this.isClosed || this.nodes.size >= NODES_MAX) return undefined;
    const isSeed = this.options.seeds.some((seed) => describeAddress(seed) === name);
    const made = new KnownNode(address, isSeed, this.options.makeNode(address, (state) => { this.hear(made, state); }));
    this.nodes.set(name, made);
    made.ready = made.node.connect({ waitMs: this.options.connectTimeoutMs }).then(() => {
      made.isReady = true;
    });
    return made;
  }

  private hear(node: KnownNode, { connected, cause }: ConnectionState): void {
    node.connected = connected;
    node.isDoubted = !connected;
    node.cause = cause;
    // Found: it may know more than the others. Lost: somebody else may have its slots.
    this.lookUp();
    this.tell();
  }

  private async ask(): Promise<void> {
    this.isAsking = true;
    const { asked } = this;
    this.askedMs = performance.now();
    const connected = [...this.nodes.values()].filter((node) => node.connected);
    this.turn += 1;
    const inTurn = connected.map((_, i) => connected[(i + this.turn) % connected.length]).filter((node) => node !== undefined);
    const trusted = [...inTurn.filter((node) => !node.isDoubted), ...inTurn.filter((node) => node.isDoubted)];
    for (const node of trusted.slice(0, ASKED_MAX)) {
      if (await this.learnFrom(node)) break;
    }
    this.isAsking = false;
    this.tell();
    // What somebody has asked for meanwhile may be newer than the answer.
    if (this.asked > asked && connected.length > 0) this.lookUp();
  }

  /** Whether the node knew. */
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
      this.cause = `${describeAddress(node.address)}: it is in no cluster`;
    } catch (error) {
      this.cause = `${describeAddress(node.address)}: CLUSTER SLOTS: ${asError(error).message}`;
    }
    node.isDoubted = true;
    return false;
  }

  private learn(ranges: readonly SlotRange[]): void {
    if (this.isClosed) return;
    const owning = new Set<KnownNode>();
    this.owners.fill(undefined);
    for (const { first, last, primary } of ranges) {
      const node = this.nodeAt(primary);
      if (node === undefined) continue;
      owning.add(node);
      this.owners.fill(node, first, last + 1);
    }
    this.owning = owning;
  }

  /** Closed only when no call waits for it: what it has been asked, it is still to answer. */
  private dropIdle(): void {
    const nowMs = performance.now();
    for (const [name, known] of this.nodes) {
      if (known.isSeed || this.owning.has(known) || known.calls > 0 || nowMs - known.usedMs < IDLE_MS_MAX) continue;
      this.nodes.delete(name);
      void known.node.store.close();
    }
  }

  private tell(): void {
    if (this.isClosed) return;
    const cause = this.whyNotWhole();
    if (cause !== undefined) {
      this.options.onConnection({ connected: false, cause });
      return;
    }
    if (this.owning.size === 0 || [...this.owning].some((node) => !node.connected)) return;
    this.onWhole?.();
    this.options.onConnection({ connected: true });
  }

  /** Undefined too while nothing has failed yet: a node is being dialled, or asked. */
  private whyNotWhole(): string | undefined {
    const [culprit] = [...this.owning].filter(isLost);
    if (culprit !== undefined) return describeLost(culprit);
    if (this.owning.size > 0) return undefined;
    // Nobody has said yet who has what: one seed that answers is enough.
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
