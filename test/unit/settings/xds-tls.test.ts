/** Certificates for a management server that do not fit its settings are rejected with each name. */

import { readSettings, type Environment } from '../../../src/configuration/settings/table/settings';
import { readXdsTls } from '../../../src/configuration/settings/tls/xds-tls';
import { makeCertificates } from '../../support/servers/certificates';
import { writeText } from '../../support/config/temp-config';

const { ca, client, stranger } = makeCertificates();

const read = (env: Environment) => readXdsTls(readSettings(env));
const ON = { CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true' };
const CERT = 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT';
const KEY = 'CONFIG_GRPC_XDS_CLIENT_TLS_KEY';
const CACERT = 'CONFIG_GRPC_XDS_SERVER_TLS_CACERT';

test('TLS is off, or on with nothing, an authority, or an identity', () => {
  expect(read({})).toBe(false);
  expect(read(ON)).toEqual({});
  expect(Object.keys(read({ ...ON, [CACERT]: ca.cert }))).toEqual(['ca']);
  expect(read({ ...ON, [CERT]: client.cert, [KEY]: client.key })).toMatchObject({
    identity: { cert: expect.stringContaining('BEGIN CERTIFICATE') as unknown },
  });
});

test('certificates without TLS are rejected, all at once', () => {
  const idle = { [CERT]: client.cert, [KEY]: client.key, [CACERT]: ca.cert, CONFIG_GRPC_XDS_SERVER_TLS_SAN: 'a.test' };
  for (const name of Object.keys(idle))
    expect(() => read(idle)).toThrow(`${name}: it is set, but TLS is off; set CONFIG_GRPC_XDS_SERVER_USE_TLS=true, or leave it unset`);
});

test.each([
  [{ [CERT]: client.cert }, `${KEY}: it is not set, but ${CERT} is; set both or neither`],
  [{ [KEY]: client.key }, `${CERT}: it is not set, but ${KEY} is; set both or neither`],
  [{ [CERT]: client.cert, [KEY]: stranger.key }, `${KEY}: it is not the key of the certificate in ${CERT}`],
  [{ [CERT]: '/nowhere', [KEY]: client.key }, `${CERT}: /nowhere can't be read (ENOENT); name a PEM file`],
  [{ [CACERT]: writeText('nothing') }, 'holds no certificate; name a PEM file with one'],
])('%j is rejected: %s', (env, message) => {
  expect(() => read({ ...ON, ...env })).toThrow(message);
});
