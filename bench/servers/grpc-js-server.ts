/** What Weir is measured against: @grpc/grpc-js with @grpc/proto-loader as anyone would write it, and a constant answer. */

import path from 'node:path';
import { Server, ServerCredentials, type sendUnaryData, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const PROTO_DIR = path.join(__dirname, '..', '..', 'proto');
const RATE_LIMIT_SERVICE = 'envoy.service.ratelimit.v3.RateLimitService';

/** As Weir says yes: so much is left of a limit. */
const ANSWER = {
  overall_code: 'OK',
  statuses: [
    { code: 'OK', current_limit: { requests_per_unit: 1000, unit: 'MINUTE' }, limit_remaining: 999, duration_until_reset: { seconds: 60 } },
  ],
};

const definitions = loadSync('envoy/service/ratelimit/v3/rls.proto', {
  includeDirs: [PROTO_DIR],
  keepCase: true,
  enums: String,
  longs: String,
  defaults: true,
});
const server = new Server();
server.addService(definitions[RATE_LIMIT_SERVICE] as ServiceDefinition, {
  ShouldRateLimit: (_call: unknown, answer: sendUnaryData<typeof ANSWER>) => {
    answer(null, ANSWER);
  },
});
server.bindAsync(`127.0.0.1:${process.argv[2] ?? '0'}`, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  console.log(`listening on ${port}`);
});
