/** Health, log and metrics report a certificate that has ended. */

import { until } from '../../support/clock/until';
import { httpRequest } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir } from '../../support/processes/weir-process';
import { makeExpired } from '../../support/servers/certificates';

const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 10 } }]\n');

const SETTING = 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT';

test('an ended certificate is said by health, log and metric', async () => {
  const { cert, key } = makeExpired();
  const pair = { [SETTING]: cert, [SETTING.replace('CERT', 'KEY')]: key };
  const weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory', ...pair } });
  const get = async (port: number, path: string) => (await httpRequest(`http://127.0.0.1:${port}${path}`)).body;
  await until(async () => (await get(weir.httpPort, '/healthcheck')).includes('certificate: ended'));
  const metric = `weir_certificate_expiry_timestamp_seconds{setting="${SETTING}"} `;
  const endsAtS = Number((await get(weir.debugPort, '/metrics')).split(metric)[1]?.split('\n')[0]);
  expect(endsAtS).toBeLessThan(Date.now() / 1_000);
  expect(weir.output()).toContain(`the certificate of ${SETTING} ended at ${new Date(endsAtS * 1_000).toISOString()}`);
  expect(await weir.stop()).toBe(0);
});
