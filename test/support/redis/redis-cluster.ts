/** A real Redis Cluster for a test, by default of three primaries with a replica each, on free loopback ports, without persistence. */

import { hangLimitMs } from '../clock/hang-limit';
import { slotOf } from '../../../src/state/store/redis/cluster-slots';
import { freePort } from '../servers/ports';
import { makeTestClient, type TestClient } from './redis-store';
import { startRedis, type RedisServer } from './redis-server';

const SLOTS = 16_384;
const PRIMARIES = 3;
/** A server that answers no other for so long is held to be down. */
const NODE_TIMEOUT_MS = 1_000;
/** While nothing is to fail: one that a busy machine keeps waiting is not down. */
const CALM_NODE_TIMEOUT_MS = 5_000;
const FORMED_WITHIN_MS = hangLimitMs(40_000);
const MIGRATED_AT_ONCE = 100;

export interface ClusterServer {
  readonly server: RedisServer;
  readonly busPort: number;
  readonly client: TestClient;
  readonly id: string;
}

export interface ClusterOptions {
  /** Another server than the one that the other tests use. */
  readonly binary?: string;
  /** Further arguments of each redis-server. */
  readonly config?: readonly string[];
  readonly primaries?: number;
  /** Each primary has a replica. */
  readonly hasReplicas?: boolean;
}

export class RedisCluster {
  /** Primaries at first; a failover changes who is one. */
  readonly servers: ClusterServer[] = [];

  private constructor(
    private readonly options: ClusterOptions,
    private readonly primaries: number,
  ) {}

  /** Resolves when every server says that the cluster is whole, and every replica has its primary. */
  static async start(options: ClusterOptions = {}): Promise<RedisCluster> {
    const cluster = await RedisCluster.startUnformed(options);
    await cluster.form();
    return cluster;
  }

  /** The servers alone, of which none knows another. */
  static async startUnformed(options: ClusterOptions = {}): Promise<RedisCluster> {
    const { primaries = PRIMARIES, hasReplicas = true } = options;
    const cluster = new RedisCluster(options, primaries);
    const started = await Promise.allSettled(Array.from({ length: hasReplicas ? primaries * 2 : primaries }, () => cluster.addServer()));
    const failed = started.find((outcome) => outcome.status === 'rejected');
    if (failed === undefined) return cluster;
    await cluster.stop();
    throw failed.reason;
  }

  async form(): Promise<void> {
    const heads = this.servers.slice(0, this.primaries);
    for (const [i, { client }] of heads.entries()) {
      const [first, next] = [Math.floor((i * SLOTS) / this.primaries), Math.floor(((i + 1) * SLOTS) / this.primaries)];
      await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', String(first), String(next - 1)]);
    }
    for (const each of this.servers.slice(1)) await this.meet(each);
    await this.until('every server knows the others', async () => {
      const nodes = await this.ask(['CLUSTER', 'NODES']);
      return nodes.every((text) => text.trim().split('\n').length === this.servers.length && !text.includes('handshake'));
    });
    for (const [i, { client }] of this.servers.slice(this.primaries).entries()) {
      await client.sendCommand(['CLUSTER', 'REPLICATE', heads[i % this.primaries]!.id]);
    }
    await this.untilWhole();
  }

  /** `host:port` of each server, as REDIS_URL lists them. */
  get url(): string {
    return this.servers.map(({ server }) => `127.0.0.1:${server.port}`).join(',');
  }

  /** A server more, of no cluster yet. */
  async addServer(): Promise<ClusterServer> {
    const busPort = await freePort();
    const cluster = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-node-timeout', String(NODE_TIMEOUT_MS)];
    const rest = [
      '--cluster-require-full-coverage',
      'no',
      '--repl-diskless-sync-delay',
      '0',
      '--cluster-replica-validity-factor',
      '0',
      '--cluster-allow-replica-migration',
      'no',
    ];
    const { config = [], ...binary } = this.options;
    const server = await startRedis({ ...binary, config: [...cluster, ...rest, ...config] });
    const client = makeTestClient(server.port);
    client.on('error', () => undefined);
    await client.connect();
    const added = { server, busPort, client, id: await textOf(client, ['CLUSTER', 'MYID']) };
    this.servers.push(added);
    return added;
  }

  /** Makes it one of the cluster. */
  async meet({ server, busPort }: ClusterServer): Promise<void> {
    // They also talk more often then.
    await this.setNodeTimeout(NODE_TIMEOUT_MS);
    await this.servers[0]!.client.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', String(server.port), String(busPort)]);
  }

  /** By the word of whoever has it. */
  async primaryOf(key: string): Promise<ClusterServer> {
    const slot = slotOf(key);
    for (const each of this.servers.filter(({ client }) => client.isReady)) {
      const slots = (await each.client.sendCommand(['CLUSTER', 'SLOTS'])) as unknown as [number, number, [string, number, string]][];
      const id = slots.find(([first, last]) => first <= slot && slot <= last)?.[2][2];
      if (id === each.id) return each;
    }
    throw new Error(`no server has slot ${slot}`);
  }

  async replicaOf(primary: ClusterServer): Promise<ClusterServer> {
    const nodes = await textOf(primary.client, ['CLUSTER', 'NODES']);
    const replica = this.servers.find(({ id }) =>
      nodes.split('\n').some((line) => line.startsWith(id) && line.includes(`slave ${primary.id}`)),
    );
    if (replica === undefined) throw new Error('the primary has no replica');
    return replica;
  }

  /** SIGKILL, or SIGSTOP; who it was. From now on servers that are silent are soon held to be down. */
  async strikePrimaryOf(key: string, signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL'): Promise<ClusterServer> {
    const primary = await this.primaryOf(key);
    await this.setNodeTimeout(NODE_TIMEOUT_MS);
    primary.server.kill(signal);
    return primary;
  }

  /** CLUSTER FAILOVER: a replica takes over, by agreement. Resolves when it has. */
  async failOver(key: string): Promise<void> {
    const primary = await this.primaryOf(key);
    const replica = await this.replicaOf(primary);
    await replica.client.sendCommand(['CLUSTER', 'FAILOVER']);
    await this.until('the replica has taken over', async () => (await this.primaryOf(key)).id === replica.id);
  }

  /** Begins to move a slot: from now on new keys are made at `to`. */
  async beginMove({ slot, from, to }: SlotMove): Promise<void> {
    await to.client.sendCommand(['CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', from.id]);
    await from.client.sendCommand(['CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', to.id]);
  }

  async keysIn({ slot, from }: Pick<SlotMove, 'slot' | 'from'>): Promise<readonly string[]> {
    const keys = await from.client.sendCommand(['CLUSTER', 'GETKEYSINSLOT', String(slot), String(MIGRATED_AT_ONCE)]);
    return keys as unknown as string[];
  }

  /** Moves these keys of the slot, or all that are there. */
  async moveKeys({ slot, from, to }: SlotMove, keys?: readonly string[]): Promise<void> {
    for (let round = 0; round < 100; round += 1) {
      const moved = (await this.keysIn({ slot, from })).filter((key) => keys?.includes(key) !== false);
      if (moved.length === 0) return;
      await from.client.sendCommand(['MIGRATE', '127.0.0.1', String(to.server.port), '', '0', '5000', 'KEYS', ...moved]);
    }
    throw new Error(`slot ${slot} did not get empty`);
  }

  /** The slot is moved: as redis-cli does it, who gets it is told first. */
  async endMove({ slot, from, to }: SlotMove): Promise<void> {
    for (const { client } of [to, from]) await client.sendCommand(['CLUSTER', 'SETSLOT', String(slot), 'NODE', to.id]);
  }

  async moveSlot(move: SlotMove): Promise<void> {
    await this.beginMove(move);
    await this.moveKeys(move);
    await this.endMove(move);
  }

  /** CLUSTER MIGRATESLOTS of Valkey 9: the old primary serves all of the slots until the new one does. */
  async moveAtOnce({ first, last, from, to }: RangeMove): Promise<void> {
    await from.client.sendCommand(['CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', String(first), String(last), 'NODE', to.id]);
    let state = '';
    await this.until('the slots have moved', async () => {
      const [latest = []] = (await from.client.sendCommand(['CLUSTER', 'GETSLOTMIGRATIONS'])) as unknown as (string | number)[][];
      state = String(latest[latest.indexOf('state') + 1]);
      return ['success', 'failed', 'canceled'].includes(state);
    });
    if (state !== 'success') throw new Error(`moving slots ${first} to ${last}: ${state}`);
  }

  /** Until every server that runs says that the cluster is whole. */
  async untilWhole(): Promise<void> {
    await this.until('the cluster is whole', async () => {
      const [infos, nodes] = [await this.ask(['CLUSTER', 'INFO']), await this.ask(['CLUSTER', 'NODES'])];
      const isWhole = infos.every((info) => info.includes('cluster_state:ok') && info.includes(`cluster_slots_assigned:${SLOTS}`));
      return isWhole && nodes.every((text) => !/handshake|fail\??[ ,]/.test(text) && text === text.replaceAll('disconnected', ''));
    });
    await this.until('every replica follows its primary', async () =>
      (await this.ask(['INFO', 'replication'])).every((info) => !info.includes('role:slave') || info.includes('master_link_status:up')),
    );
    await this.setNodeTimeout(CALM_NODE_TIMEOUT_MS);
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.servers.map(async ({ server, client }) => {
        client.destroy();
        await server.stop();
      }),
    );
  }

  private async setNodeTimeout(ms: number): Promise<void> {
    await this.ask(['CONFIG', 'SET', 'cluster-node-timeout', String(ms)]);
  }

  /** What every server that runs answers. */
  private async ask(command: readonly string[]): Promise<string[]> {
    const running = this.servers.filter(({ client }) => client.isReady);
    return Promise.all(running.map(({ client }) => textOf(client, command)));
  }

  private async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const endMs = Date.now() + FORMED_WITHIN_MS;
    while (Date.now() < endMs) {
      if (await isSo().catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`${what}: not within ${FORMED_WITHIN_MS} ms`);
  }
}

async function textOf(client: TestClient, command: readonly string[]): Promise<string> {
  return (await client.sendCommand(command)) as unknown as string;
}

export interface SlotMove {
  readonly slot: number;
  readonly from: ClusterServer;
  readonly to: ClusterServer;
}

export interface RangeMove extends Pick<SlotMove, 'from' | 'to'> {
  readonly first: number;
  readonly last: number;
}
