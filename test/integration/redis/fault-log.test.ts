/** An internal fault in every request is answered and counted, with one log line a minute. */

import { resolve } from 'node:path';
import { httpRequest } from '../../support/clients/http-client';
import { RlsClient } from '../../support/clients/rls-client';
import { writeConfig, writeText } from '../../support/config/temp-config';
import { startWeir } from '../../support/processes/weir-process';

const CALLS = 200;
const INTERNAL = 13;
const PREPARATION = resolve(__dirname, '..', '..', '..', 'dist', 'state', 'request', 'preparation.js');
const BREAK = `
const { Preparation } = require(${JSON.stringify(PREPARATION)});
let calls = 0;
Preparation.prototype.of = () => { throw new TypeError('broken ' + (calls += 1)); };
`;

test.each(['lean', 'grpc-js'])(
  'an internal fault is answered and counted over %s and /json, with one log line a minute',
  async (transport) => {
    const config = writeConfig('{ domain: d, descriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 1 } }] }');
    const env = { NODE_OPTIONS: `--require ${writeText(BREAK)}`, TRANSPORT: transport, WARM_UP: 'false', LOG_FORMAT: 'json' };
    const weir = await startWeir({ config, env });
    const client = new RlsClient(weir.grpcPort);
    const answers = await Promise.allSettled(Array.from({ length: CALLS }, () => client.ask('d', [{ entries: { k: 'v' } }])));
    expect(answers).toEqual(Array(CALLS).fill(expect.objectContaining({ reason: expect.objectContaining({ code: INTERNAL }) as unknown })));
    const body = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }] }] };
    expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { method: 'POST', body })).status).toBe(500);
    const metrics = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
    expect(metrics.body).toMatch(new RegExp(`err_type="service_error"\\S* ${CALLS + 1}\n`));
    client.close();
    await weir.stop();
    const lines = weir
      .output()
      .split('\n')
      .filter((line) => line.includes('"code":"internal_error"'));
    expect(lines).toEqual([expect.stringContaining('broken 1')]);
  },
);
