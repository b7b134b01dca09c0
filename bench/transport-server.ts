/** A process that serves ShouldRateLimit by one transport with a constant decision, and says what processor time it has used. */

import type { Decision } from '../src/engine/decision';
import { Health } from '../src/observability/health';
import { makeAnswerCall } from '../src/transport/answer';
import { GrpcServer } from '../src/transport/grpc-server';
import { LeanServer } from '../src/transport/http2/lean-server';

const ALLOWED: Decision = { overallCode: 'OK', statuses: [{ code: 'OK', limitRemaining: 1, fits: true }] };

const health = new Health();
const log = { error: console.error };
const answerCall = makeAnswerCall({ decide: () => Promise.resolve(ALLOWED), log, onFailure: () => undefined });
const options = { answerCall, health, onCall: () => undefined };
const grpc = new GrpcServer(options);
const server = process.argv[2] === 'lean' ? new LeanServer({ ...options, grpc, log }) : grpc;

health.serve();
process.on('message', () => process.send?.({ cpu: process.cpuUsage() }));
process.on('disconnect', () => process.exit(0));
void server.start({ host: '127.0.0.1', port: 0 }).then(({ port }) => process.send?.({ port }));
