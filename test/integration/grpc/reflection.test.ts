/** A Go client without a .proto file lists, describes and calls every service. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { FileDescriptorProto } from 'protobufjs/ext/descriptor';
import { Harness, TRANSPORTS } from '../../support/servers/transport-harness';
import { hangLimitMs } from '../../support/clock/hang-limit';

const ROOT = path.join(__dirname, '..', '..', '..');
const BUF = path.join(ROOT, 'node_modules', '.bin', 'buf');
const DESCRIPTORS_FILE = path.join(ROOT, 'proto', 'descriptors.json');

const KUADRANT = 'kuadrant.service.ratelimit.v1.RateLimitService';
const RESERVATIONS = 'weir.v1.ReservationService';
const REFLECTION = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];
const RATE_LIMIT = 'envoy.service.ratelimit.v3.RateLimitService';

describe.each(TRANSPORTS.flatMap((transport) => ['grpc-v1', 'grpc-v1alpha'].map((protocol) => [protocol, transport] as const)))(
  'reflection %s (%s)',
  (reflectProtocol, transport) => {
    let harness: Harness;

    beforeAll(async () => {
      harness = await Harness.start(transport);
    });

    afterAll(() => harness.stop());

    async function buf(target: string, ...options: string[]): Promise<string> {
      const url = `http://127.0.0.1:${harness.port}${target}`;
      const args = ['curl', '--protocol', 'grpc', '--http2-prior-knowledge', '--reflect-protocol', reflectProtocol, ...options, url];
      const { stdout } = await promisify(execFile)(BUF, args, { timeout: hangLimitMs(20_000) });
      return stdout;
    }

    it('reflection lists the services and their methods', async () => {
      expect((await buf('', '--list-services')).trim().split('\n')).toEqual([
        RATE_LIMIT,
        'grpc.health.v1.Health',
        ...REFLECTION,
        KUADRANT,
        RESERVATIONS,
      ]);
      expect((await buf('', '--list-methods')).trim().split('\n')).toEqual([
        `${RATE_LIMIT}/ShouldRateLimit`,
        'grpc.health.v1.Health/Check',
        'grpc.health.v1.Health/List',
        'grpc.health.v1.Health/Watch',
        ...REFLECTION.map((service) => `${service}/ServerReflectionInfo`),
        ...['CheckRateLimit', 'Commit', 'Report', 'Reserve'].map((method) => `${KUADRANT}/${method}`),
        ...['Commit', 'Extend', 'Release', 'Reserve'].map((method) => `${RESERVATIONS}/${method}`),
      ]);
    });

    it('reflection lets a client call ShouldRateLimit with text', async () => {
      const request = {
        domain: 'edge',
        descriptors: [
          {
            entries: [{ key: 'user', value: 'zoé' }],
            limit: { requestsPerUnit: 2, unit: 'WEEK', unitMultiplier: 3 },
            hitsAddend: '5',
            isNegativeHits: true,
          },
        ],
      };
      harness.requests.length = 0;
      const reply = JSON.parse(await buf(`/${RATE_LIMIT}/ShouldRateLimit`, '-d', JSON.stringify(request))) as object;
      expect(reply).toEqual({ overallCode: 'OK', statuses: [{ code: 'OK' }] });
      expect(harness.requests).toEqual([
        {
          domain: 'edge',
          descriptors: [
            {
              entries: [{ key: 'user', value: 'zo\xc3\xa9' }],
              override: { requestsPerUnit: 2, unit: 'week', unitMultiplier: 3 },
              hits: -5,
            },
          ],
          hits: 1,
        },
      ]);
    });

    it.each(['Check', 'List'])('reflection lets a client call Health/%s', async (method) => {
      expect(await buf(`/grpc.health.v1.Health/${method}`, '-d', '{}')).toContain('SERVING');
    });
  },
);

describe('the descriptors', () => {
  const text = readFileSync(DESCRIPTORS_FILE, 'utf8');
  const encoded = (JSON.parse(text) as { files: { descriptor: string }[] }).files.map(({ descriptor }) =>
    Buffer.from(descriptor, 'base64'),
  );
  const files = encoded.map(
    (bytes) => FileDescriptorProto.toObject(FileDescriptorProto.decode(bytes)) as { name: string; dependency?: string[] },
  );

  it("the descriptors equal buf's output for proto/; if not, run node scripts/generate/descriptors.mjs", async () => {
    const script =
      "import('./scripts/generate/descriptors.mjs').then(({ renderDescriptors }) => process.stdout.write(renderDescriptors()))";
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: ROOT, timeout: hangLimitMs(20_000) });
    expect(text).toBe(stdout);
  });

  it('each .proto is one file, under the name that others import', () => {
    expect(files.map(({ name }) => name).sort()).toEqual([
      'envoy/config/core/v3/base.proto',
      'envoy/extensions/common/ratelimit/v3/ratelimit.proto',
      'envoy/service/ratelimit/v3/rls.proto',
      'envoy/type/v3/ratelimit_unit.proto',
      'google/protobuf/duration.proto',
      'google/protobuf/struct.proto',
      'google/protobuf/timestamp.proto',
      'google/protobuf/wrappers.proto',
      'grpc/health/v1/health.proto',
      'grpc/reflection/v1/reflection.proto',
      'grpc/reflection/v1alpha/reflection.proto',
      'kuadrant/service/ratelimit/v1/ratelimit.proto',
      'weir/v1/reservation.proto',
    ]);
  });

  it('the descriptors name their imports', () => {
    const rls = files.find(({ name }) => name === 'envoy/service/ratelimit/v3/rls.proto');
    expect(rls?.dependency?.toSorted()).toEqual([
      'envoy/config/core/v3/base.proto',
      'envoy/extensions/common/ratelimit/v3/ratelimit.proto',
      'google/protobuf/duration.proto',
      'google/protobuf/struct.proto',
      'google/protobuf/timestamp.proto',
      'google/protobuf/wrappers.proto',
    ]);
  });

  it('the descriptors name map entries as protoc does', () => {
    const bytes = Buffer.concat(encoded).toString('latin1');
    expect(bytes).toContain('.google.protobuf.Struct.FieldsEntry');
    expect(bytes).toContain('.grpc.health.v1.HealthListResponse.StatusesEntry');
  });
});
