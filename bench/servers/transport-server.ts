/** A process that serves ShouldRateLimit by one transport with a constant decision, over TLS if it is given files for that, and says what processor time it has used. */

import { readFileSync } from 'node:fs';
import type { Decision } from '../../src/domain/decide/decision';
import { Health } from '../../src/server/observability/health';
import { makeAnswerCalls } from '../../src/server/transport/answer';
import { GrpcServer } from '../../src/server/transport/grpc/grpc-server';
import { LeanServer } from '../../src/server/transport/http2/lean-server';

const ALLOWED: Decision = { overallCode: 'OK', statuses: [{ code: 'OK', limitRemaining: 1, fits: true, denies: false }] };

const health = new Health();
const log = { error: console.error };
const answerCalls = makeAnswerCalls({
  decide: (requests) => Promise.resolve(requests.map(() => ALLOWED)),
  log,
  onFailure: () => undefined,
});
const [transport, cert, key] = process.argv.slice(2);
const tls =
  cert === undefined || key === undefined ? undefined : { material: { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') } };
const options = { answerCalls, health, onCall: () => undefined, tls };
const server = transport === 'lean' ? new LeanServer({ ...options, log }) : new GrpcServer(options);

health.serve();
process.on('message', () => process.send?.({ cpu: process.cpuUsage() }));
process.on('disconnect', () => process.exit(0));
void server.start({ host: '127.0.0.1', port: 0 }).then(({ port }) => process.send?.({ port }));
