/** `npm run conformance` at a Weir process: over gRPC, its files read while it runs. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seeded } from '../support/random';
import { startWeir } from '../support/weir-process';
import { reportLines } from './run-conformance';
import { runTarget } from './target';

const REQUESTS = 1_000;
const RUN_SECONDS_MAX = 20;

test(
  `${REQUESTS} random requests over gRPC are answered as the model answers them`,
  async () => {
    const configDir = mkdtempSync(join(tmpdir(), 'weir-conformance-'));
    writeFileSync(join(configDir, 'first.yaml'), 'domain: first\n');
    const weir = await startWeir({ config: configDir, env: { DEFAULT_ALGORITHM: 'fixed_window', DEFAULT_OVERDRAFT: 'true' } });
    const said: string[] = [];
    try {
      const target = `127.0.0.1:${weir.grpcPort}`;
      const { seed } = seeded(1);
      const report = await runTarget({ target, configDir, seed, requests: REQUESTS, runSecondsMax: RUN_SECONDS_MAX, say: (line) => said.push(line) });
      expect(said[0]).toContain(`waiting until ${target} answers by them`);
      expect(reportLines(report)).toEqual([`${REQUESTS} requests: ${REQUESTS} answered as Weir, ${report.asReference} as envoyproxy/ratelimit, 0 as neither`]);
    } finally {
      await weir.stop();
    }
  },
  90_000,
);
