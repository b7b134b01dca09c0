/** What docs/tenants.md describes: three instances with two workers each on one Redis, and an Envoy that asks all of them. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { callAdmin, type AdminRequest, type AdminResponse } from '../../support/admin/admin-client';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { runCommand, type CommandResult } from '../../support/processes/command';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis } from '../../support/redis/redis-server';
import { startEnvoy } from '../../support/servers/envoy';
import { freePort } from '../../support/servers/ports';
import { startBackend } from '../chain/backend';
import { onLoopback } from '../chain/published-addresses';
import { bearer, KEYS } from '../chain/tokens';
import { settingsOfPage } from './page';

const ROOT = path.resolve(__dirname, '..', '..', '..');
export const TENANTS_ENVOY = path.join(ROOT, 'deploy', 'tenants', 'envoy.yaml');
const LIMITS = path.join(ROOT, 'deploy', 'tenants', 'payments.yaml');
const WEIR = `weir() { "${process.execPath}" "${path.join(ROOT, 'dist', 'main.js')}" "$@"; }`;
const INSTANCES = 3;

/** Answers in a row with Weir's figures, after which Envoy is connected to all instances. */
const DECIDED_MIN = 4 * INSTANCES;

export interface Fleet {
  readonly instances: readonly WeirProcess[];
  /** A route of Envoy's with limits. */
  readonly paymentUrl: string;
  backendRequests(): number;
  /** Calls to Weir that failed, as Envoy counts them. */
  failedCalls(): Promise<number>;
  /** Runs a command as a shell would, against the admin API of one instance. */
  sh(command: string): Promise<CommandResult>;
  /** The same API, at another instance. */
  admin(request: AdminRequest): Promise<AdminResponse>;
  stop(): Promise<void>;
}

export async function startFleet(): Promise<Fleet> {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-tenants-'));
  const [tokens, token] = [path.join(folder, 'tokens'), path.join(folder, 'token')];
  writeFileSync(tokens, tokenLine('ann', 'admin', TOKENS.admin));
  writeFileSync(token, `${TOKENS.admin}\n`);
  const redis = await startRedis();
  const adminPorts = await Promise.all(Array.from({ length: INSTANCES }, () => freePort()));
  const instances = await Promise.all(
    adminPorts.map((port) =>
      startWeir({
        config: LIMITS,
        env: {
          ...settingsOfPage(),
          REDIS_URL: `127.0.0.1:${redis.port}`,
          ADMIN_PORT: String(port),
          ADMIN_TOKENS_FILE: tokens,
          // The default is too short where all this shares two cores.
          REDIS_OP_TIMEOUT: '1s',
        },
      }),
    ),
  );
  const backend = await startBackend();
  const [listenPort, envoyAdminPort] = [await freePort(), await freePort()];
  const envoy = await startEnvoy({
    config: { file: TENANTS_ENVOY },
    adminPort: envoyAdminPort,
    replacements: {
      ...onLoopback({
        adminPort: envoyAdminPort,
        listenPort,
        backendPort: backend.port,
        weirGrpcPorts: instances.map(({ grpcPort }) => grpcPort),
      }),
      'timeout: 0.1s': 'timeout: 3s',
      ...KEYS,
    },
  });
  const paymentUrl = `http://127.0.0.1:${listenPort}/payment`;
  let decided = 0;
  await until(async () => {
    const { headers } = await httpRequest(paymentUrl, { headers: bearer({ merchant: 'warm-up' }) });
    decided = headers['x-ratelimit-limit'] === undefined ? 0 : decided + 1;
    return decided >= DECIDED_MIN;
  });
  const [ofCommands, ofTests] = adminPorts.map((port) => `http://127.0.0.1:${port}`);
  const fleet: Omit<Fleet, 'failedCalls'> = {
    instances,
    paymentUrl,
    backendRequests: () => backend.requests(),
    sh: (command) =>
      runCommand('sh', ['-c', `${WEIR}\n${command}`], { env: { WEIR_ADMIN_URL: ofCommands!, WEIR_ADMIN_TOKEN_FILE: token } }),
    admin: (request) => callAdmin(ofTests!, { token: TOKENS.admin, ...request }),
    stop: async () => {
      await envoy.stop();
      await backend.stop();
      await Promise.all(instances.map((instance) => instance.stop()));
      await redis.stop();
      rmSync(folder, { recursive: true });
    },
  };
  // Those of the warm-up, before a connection stood, do not count.
  const failed = async (): Promise<number> => {
    const { body } = await httpRequest(`http://127.0.0.1:${envoyAdminPort}/stats?filter=ratelimit\\.(error|failure_mode_allowed)`);
    return Array.from(body.matchAll(/: (\d+)$/gm), ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0);
  };
  const failedBefore = await failed();
  return { ...fleet, failedCalls: async () => (await failed()) - failedBefore };
}
