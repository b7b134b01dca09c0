/** Entry of the thread of the admin API, so that no admin request delays a decision. */

import { parentPort, workerData } from 'node:worker_threads';
import { asError } from '../../../lib/errors';
import type { AdminThreadData, FromThread, ToThread } from '../../../administration/admin/link/messages';
import { RemoteServices } from '../../../administration/admin/link/remote-services';
import { makeCompileSet } from '../../../configuration/source/compile-set';
import { takeConfigNews } from '../../../configuration/source/config-news';
import { RulesInForce } from '../../../configuration/source/rules-in-force';
import type { DeclaredLevel } from '../../../configuration/compile/lint/declared-level';
import type { PlanSpec } from '../../../configuration/compile/read/read-plans';
import type { Plan } from '../../../domain/rule/plan';
import type { DescriptorLevel } from '../../../domain/rule/tree';
import type { TailSample } from '../../../server/observability/tail/tail-sample';
import { createLogger } from '../../../server/observability/log/logger';
import { readSettings } from '../../../configuration/settings/table/settings';
import { DocumentCollector } from '../../../configuration/yaml/text-pieces';
import { serveAdmin, type Declared, type ServedAdmin } from './serve-admin';

const data = workerData as AdminThreadData;
const send = (message: FromThread): void => parentPort?.postMessage(message);
const settings = readSettings(process.env);
const log = createLogger({
  level: settings.logLevel,
  format: settings.logFormat,
  destination: {
    write: (line) => {
      send({ kind: 'log', line });
    },
  },
});
const remote = new RemoteServices(send);
const tails = new Map<number, (sample: TailSample) => void>();
const parts = new DocumentCollector();

/** The rule set as declared, for explanations. */
let collected = { levels: new Map<DescriptorLevel, DeclaredLevel>(), plans: new Map<Plan, PlanSpec>() };
let declared: Declared = collected;
const compile = makeCompileSet({
  ...data.compile,
  onLevel: (each) => collected.levels.set(each.level, each),
  onPlan: (spec, plan) => collected.plans.set(plan, spec),
});
const rules = new RulesInForce({
  compile: async (set, generation) => {
    collected = { levels: new Map(), plans: new Map() };
    const ruleSet = await compile(set, generation);
    declared = collected;
    return ruleSet;
  },
});

let served: Promise<ServedAdmin> | undefined;

parentPort?.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'config_part':
      parts.add(message.part);
      break;
    case 'config':
      void takeConfigNews(rules, { ...message.news, documents: parts.take() }).then(start);
      break;
    case 'answer':
    case 'failure':
      remote.onAnswer(message);
      break;
    case 'sample':
      tails.get(message.tail)?.(message.sample);
      break;
    case 'listen':
      report(served?.then((admin) => admin.listen()).then((port) => ({ kind: 'listening', port })));
      break;
    case 'open':
      void served?.then((admin) => {
        admin.open();
      });
      break;
    case 'close':
      void close();
  }
});

/** Prepares to serve, after the first news of the configuration. */
function start(): void {
  if (served !== undefined) return;
  served = serveAdmin({ data, settings, log, rules, declared: () => declared, remote, tails, send });
  report(served.then(() => ({ kind: 'prepared' })));
}

/** Sends the message that the step resolves to, or that it failed. */
function report(step: Promise<FromThread> | undefined): void {
  step?.then(send, (error: unknown) => {
    send({ kind: 'failed', message: asError(error).message });
  });
}

async function close(): Promise<void> {
  await served?.then((admin) => admin.close()).catch(() => undefined);
  parentPort?.close();
}
