/** All published configurations in one Envoy, each with a backend of its own, and between Envoy and Weir what keeps every call. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../support/clock/until';
import { startWeir } from '../../support/processes/weir-process';
import { inDomain, startListeners, type Example } from '../examples/example-gateway';
import type { RawRequest } from '../../support/clients/raw-request';
import type { Attempt } from './attempt';
import { send, type Answered } from './caller';
import { startRawBackend, type RawBackend, type Received } from './raw-backend';
import { startRelay, type Call } from './relay';
import { answerOf } from './subjects';

export interface Trial {
  readonly example: string;
  readonly attempt: Attempt;
  readonly as: Pick<RawRequest, 'from' | 'tls'>;
  /** Whether the caller waits for its answer. */
  readonly isPatient: boolean;
}

export interface Outcome extends Answered {
  readonly received: readonly Received[];
  readonly calls: readonly Call[];
}

export interface Sites {
  /** Trials of different examples may run at once. Resolves when everything that this one caused has ended. */
  run(trial: Trial): Promise<Outcome>;
  stop(): Promise<void>;
}

export async function startSites(examples: readonly Example[]): Promise<Sites> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-sites-'));
  for (const { id, limits } of examples) writeFileSync(join(folder, `${id}.yaml`), inDomain(limits, id));
  const weir = await startWeir({ config: folder, env: { BACKEND_TYPE: 'memory' } });
  const relay = await startRelay(weir.grpcPort);
  const backends = new Map<string, RawBackend>();
  for (const { id } of examples) backends.set(id, await startRawBackend(answerOf(id)));
  const backendOf = (id: string) => backends.get(id)!;
  const { envoy, admin, port, weirClusters, backendClusters } = await startListeners(examples, (id) => {
    const backend = backendOf(id).port;
    return new Map([
      ['backend:8080', backend],
      ['127.0.0.1:9000', backend],
      ['weir:8081', relay.port],
      ['127.0.0.1:8081', relay.port],
    ]);
  });
  const opened = new Map<string, number>();
  const stats = sharedLook(async () => {
    const page = await admin(`/stats?filter=${STATS}`);
    return new Map(page.split('\n').map((line) => line.split(': ') as [string, string]));
  });
  return {
    run: async ({ example, attempt, as: { from = '127.0.0.1', tls }, isPatient }) => {
      const onConnected = () => opened.set(example, (opened.get(example) ?? 0) + 1);
      const hasArrived = () => backendOf(example).next();
      const answered = await send(attempt, { port: port(example), from, tls, isPatient, onConnected, hasArrived });
      let quietLooks = 0;
      await until(async () => {
        quietLooks = (await isQuiet(example)) ? quietLooks + 1 : 0;
        return quietLooks === 2;
      });
      return { ...answered, received: backendOf(example).taken(), calls: relay.taken(example) };
    },
    stop: async () => {
      await envoy.stop();
      await Promise.all([...backends.values()].map((backend) => backend.stop()));
      await relay.stop();
      await weir.stop();
      rmSync(folder, { recursive: true });
    },
  };

  /** Whether Envoy has taken all connections, none is open, and no call to Weir is under way. */
  async function isQuiet(id: string): Promise<boolean> {
    const seen = await stats();
    const listener = `listener.127.0.0.1_${port(id)}.downstream_cx`;
    const cluster = `cluster.${weirClusters.get(id) ?? ''}.upstream_rq`;
    const toBackend = `cluster.${backendClusters.get(id) ?? ''}.upstream_cx_active`;
    const names = [`${listener}_active`, `${cluster}_active`, `${cluster}_pending_active`, ...(OVER_TCP.includes(id) ? [toBackend] : [])];
    const isOver = names.every((name) => seen.get(name) === '0') && relay.open(id) + relay.unread() === 0;
    return isOver && Number(seen.get(`${listener}_total`)) >= (opened.get(id) ?? 0);
  }
}

/** Their proxy sends the backend what it has got, also after the caller has hung up. */
const OVER_TCP = ['connections'];

/** Connections, and calls to Weir. */
const STATS =
  '^(listener\\.127.*\\.downstream_cx_(active|total)|cluster\\.weir.*\\.upstream_rq_(pending_)?active|cluster\\.backend.*\\.upstream_cx_active)$';

/** All who ask while one look is under way share the next one. */
function sharedLook<Look>(look: () => Promise<Look>): () => Promise<Look> {
  let present: Promise<unknown> = Promise.resolve();
  let next: Promise<Look> | undefined;
  return () => {
    next ??= present.then(() => {
      const started = look();
      present = started;
      next = undefined;
      return started;
    });
    return next;
  };
}
