/** Settings and rules add headers and metadata to answers, on both transports and `/json`. */

import { formatResponse } from '../../../src/server/transport/messages/response';
import type { WireRequest } from '../../../src/server/transport/messages/wire';
import { httpRequest } from '../../support/clients/http-client';
import { freePort } from '../../support/servers/ports';
import { RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { TRANSPORTS } from '../../support/servers/transport-harness';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const LIMITS = `
descriptors:
  - key: logins
    rate_limit: { name: logins, unit: year, requests_per_unit: 2 }
    metadata: { plan: { name: gold }, ratio: 0.5 }
  - key: internal
    rate_limit: { unit: year, requests_per_unit: 1000, response_headers: off }
  - key: plan
    value: free
    rate_limit: { unit: year, requests_per_unit: 1000 }
`;
const CONFIG = writeConfig(`domain: d\nalgorithm: fixed_window\n${LIMITS}`);
const CONFIG_IETF = writeConfig(`domain: d\nalgorithm: fixed_window\nresponse_headers: ietf\n${LIMITS}`);

const ALL: readonly AskedDescriptor[] = [{ entries: { internal: 'i' } }, { entries: { logins: 'zoe' } }, { entries: { plan: 'free' } }];

/** Of a calendar that does not end within the test: a year of 365 days. */
const SECONDS = /^\d{1,8}$/;

interface AnswerJson {
  readonly overallCode: string;
  readonly responseHeadersToAdd?: readonly { readonly key: string; readonly value: string }[];
  readonly dynamicMetadata?: Readonly<Record<string, unknown>>;
}

interface Asking {
  readonly weir: WeirProcess;
  readonly ask: (descriptors: readonly AskedDescriptor[]) => Promise<AnswerJson>;
  readonly askRaw: (request: WireRequest) => Promise<AnswerJson>;
}

describe.each(TRANSPORTS)('answers over %s', (transport) => {
  async function withWeir(env: Readonly<Record<string, string>>, use: (asking: Asking) => Promise<void>, config = CONFIG): Promise<void> {
    const weir = await startWeir({ config, env: { TRANSPORT: transport, WARM_UP: 'false', ...env } });
    const client = new RlsClient(weir.grpcPort);
    const toJson = (answer: Parameters<typeof formatResponse>[0]) => JSON.parse(formatResponse(answer)) as AnswerJson;
    try {
      await use({
        weir,
        ask: async (descriptors) => toJson(await client.ask('d', descriptors)),
        askRaw: async (request) => toJson(await client.askRaw(request)),
      });
    } finally {
      client.close();
      await weir.stop();
    }
  }

  function headersOf({ responseHeadersToAdd = [] }: AnswerJson): [string, string][] {
    return responseHeadersToAdd.map(({ key, value }) => [key, value]);
  }

  test('answers have only codes and statuses without a setting', async () => {
    await withWeir({}, async ({ ask }) => {
      for (let i = 0; i < 3; i += 1) expect(Object.keys(await ask(ALL))).toEqual(['overallCode', 'statuses']);
    });
  });

  test('LIMIT_RESPONSE_HEADERS_ENABLED adds the three headers of the nearest descriptor, under the configured names', async () => {
    await withWeir({ LIMIT_RESPONSE_HEADERS_ENABLED: 'true', LIMIT_LIMIT_HEADER: 'X-Limit' }, async ({ ask }) => {
      for (const [code, remaining] of [
        ['OK', '1'],
        ['OK', '0'],
        ['OVER_LIMIT', '0'],
      ]) {
        const answer = await ask(ALL);
        expect(answer.overallCode).toBe(code);
        expect(headersOf(answer)).toEqual([
          ['X-Limit', '2'],
          ['RateLimit-Remaining', remaining],
          ['RateLimit-Reset', expect.stringMatching(SECONDS)],
        ]);
      }
    });
  });

  test('RESPONSE_HEADERS=ietf wins over it and lists every limit that is not off, with Retry-After on denials', async () => {
    await withWeir({ LIMIT_RESPONSE_HEADERS_ENABLED: 'true', RESPONSE_HEADERS: 'ietf' }, async ({ ask }) => {
      const policy = ['RateLimit-Policy', '"logins";q=2;w=31536000, "plan_free";q=1000;w=31536000'];
      expect(headersOf(await ask(ALL))).toEqual([
        policy,
        ['RateLimit', expect.stringMatching(/^"logins";r=1;t=\d+, "plan_free";r=999;t=\d+$/)],
      ]);
      await ask(ALL);
      const denied = [
        policy,
        ['RateLimit', expect.stringMatching(/^"logins";r=0;t=\d+, "plan_free";r=998;t=\d+$/)],
        ['Retry-After', expect.stringMatching(SECONDS)],
      ];
      expect(headersOf(await ask(ALL))).toEqual(denied);
    });
  });

  test('response_headers of the configuration wins over the settings, and RETRY_AFTER_ENABLED covers every denial', async () => {
    const descriptors = [{ entries: { logins: 'v' } }];
    await withWeir(
      { RETRY_AFTER_ENABLED: 'false' },
      async ({ ask }) => {
        for (let i = 0; i < 3; i += 1)
          expect(headersOf(await ask(descriptors)).map(([name]) => name)).toEqual(['RateLimit-Policy', 'RateLimit']);
      },
      CONFIG_IETF,
    );
    await withWeir({ RETRY_AFTER_ENABLED: 'true' }, async ({ ask }) => {
      for (let i = 0; i < 2; i += 1) expect(headersOf(await ask(descriptors))).toEqual([]);
      expect(headersOf(await ask(descriptors))).toEqual([['Retry-After', expect.stringMatching(SECONDS)]]);
    });
  });

  test('metadata has the request, the metadata of rules and the reason of the decision', async () => {
    await withWeir({ RESPONSE_DYNAMIC_METADATA: 'true', RESPONSE_DECISION_METADATA: 'true' }, async ({ ask, weir }) => {
      await ask(ALL);
      const asked = {
        domain: 'd',
        descriptors: [{ entries: ['internal=i'] }, { entries: ['logins=zoe'] }, { entries: ['plan=free'] }],
      };
      expect((await ask(ALL)).dynamicMetadata).toEqual({
        ...asked,
        metadata: { plan: { name: 'gold' }, ratio: 0.5 },
        decision: expect.objectContaining({ code: 'OK', generation: 1 }) as unknown,
      });
      const { dynamicMetadata } = await ask(ALL);
      expect(dynamicMetadata).toMatchObject({
        ...asked,
        decision: {
          code: 'OVER_LIMIT',
          denied_by: ['d.logins'],
          descriptors: [{ code: 'OK', rule: 'd.internal' }, { code: 'OVER_LIMIT', limit_name: 'logins' }, { rule: 'd.plan_free' }],
        },
      });
      expect(dynamicMetadata).not.toHaveProperty('metadata');
      const body = JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key: 'logins', value: 'zoe' }] }] });
      const json = JSON.parse((await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { method: 'POST', body })).body) as AnswerJson;
      expect(json.dynamicMetadata).toMatchObject({ decision: { denied_by: ['d.logins'] } });
    });
  });

  test('invalid UTF-8 and long texts come back as valid, bounded text', async () => {
    await withWeir({ RESPONSE_DYNAMIC_METADATA: 'true' }, async ({ askRaw }) => {
      const entries = [{ key: 'k', value: '\xff\xfe' }, ...Array.from({ length: 60 }, () => ({ key: 'k', value: '\xff'.repeat(2000) }))];
      const { dynamicMetadata } = await askRaw({ domain: 'd', descriptors: [{ entries }], hits_addend: 3 });
      expect(dynamicMetadata).toMatchObject({ domain: 'd', hitsAddend: 3 });
      const [{ entries: shown }] = dynamicMetadata!.descriptors as [{ entries: string[] }];
      expect([shown[0], shown[1]]).toEqual(['k=��', `k=${'�'.repeat(1022)}…`]);
    });
  });

  test('metadata names the store that decided', async () => {
    const port = await freePort();
    const env = { REDIS_URL: `redis://127.0.0.1:${port}`, FAILURE_MODE: 'local', REDIS_CONNECT_TIMEOUT: '50ms' };
    await withWeir({ ...env, RESPONSE_DECISION_METADATA: 'true', RESPONSE_HEADERS: 'reference' }, async ({ ask }) => {
      const answer = await ask(ALL);
      expect(answer.dynamicMetadata).toMatchObject({ decided_by: 'fallback', decision: { code: 'OK' } });
      expect(headersOf(answer)).toHaveLength(3);
    });
  });
});

test('an invalid header name stops the start', async () => {
  const start = startWeir({ config: CONFIG, env: { LIMIT_RESET_HEADER: 'x-a\r\nx-b', LIMIT_LIMIT_HEADER: ':status' } });
  await expect(start).rejects.toThrow(/LIMIT_LIMIT_HEADER[^]*LIMIT_RESET_HEADER/);
});

test("a setting of the reference that lists all descriptors causes a line that names Weir's setting", async () => {
  const weir = await startWeir({ config: CONFIG, env: { LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED: 'true' } });
  expect(weir.output()).toContain(
    'LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED has no effect here. RESPONSE_HEADERS=ietf lists the limits of all descriptors.',
  );
  await weir.stop();
});
