/** Starts the thread of the admin API, and answers its questions in the deciding process. */

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Registry } from 'prom-client';
import type { TailSource } from '../../../server/observability/tail/tail-sample';
import type { AdminThreadData, FromThread, ProcessServices, ToThread } from '../../../administration/admin/link/messages';
import { answerCall } from '../../../administration/admin/link/serve-calls';
import { configNews, newsInForce, newsRefused, withoutDocuments, type ConfigNews } from '../../../configuration/source/config-news';
import type { RulesInForce } from '../../../configuration/source/rules-in-force';
import { event } from '../../../server/observability/log/log-event';
import { AdminMetrics } from '../../../server/observability/metrics/admin-metrics';
import type { Logger } from '../../../server/observability/log/logger';
import { ListenError } from '../../../server/transport/port/listen-error';
import { partsOf } from '../../../configuration/yaml/text-pieces';
import type { Bind } from '../start/bind-all';

/** Wait before a thread that ended is started again, in milliseconds. */
const RESTART_MS = 5_000;

/** For how long requests may go on when Weir stops, in milliseconds. */
const CLOSE_MS = 2_000;

export interface OpenAdminInput {
  readonly data: AdminThreadData;
  readonly rules: RulesInForce;
  readonly services: ProcessServices;
  readonly tail: TailSource;
  /** Where the metrics of the admin API are read. */
  readonly registry: Registry;
  readonly log: Logger;
}

export interface OpenedAdmin {
  /** Rejects with ListenError. */
  readonly bind: Bind;
  /** Answers from now on what the port accepts. */
  open(): void;
  close(): Promise<void>;
}

/** Resolves when the thread is ready to bind its port. Rejects with ListenError if it cannot start. */
export async function openAdmin(input: OpenAdminInput): Promise<OpenedAdmin> {
  const thread = new AdminThread(input);
  await thread.start();
  return {
    bind: async () => ({ admin: await thread.listen() }),
    open: () => {
      thread.open();
    },
    close: () => thread.close(),
  };
}

type Listening = Extract<FromThread, { kind: 'listening' }>;

class AdminThread {
  private worker: Worker | undefined;
  private isClosing = false;
  private restart: NodeJS.Timeout | undefined;
  private readonly openTails = new Set<number>();
  private readonly metrics: AdminMetrics;

  constructor(private readonly input: OpenAdminInput) {
    this.metrics = new AdminMetrics(input.registry);
    input.rules.onLoad((outcome) => {
      this.sendConfig('ruleSet' in outcome ? newsInForce(input.rules) : newsRefused(input.rules));
    });
  }

  async start(): Promise<void> {
    const worker = new Worker(path.join(__dirname, 'admin-thread.js'), { workerData: this.input.data });
    this.worker = worker;
    worker.on('message', (message: FromThread) => {
      this.handle(message);
    });
    worker.once('exit', () => {
      this.onExit(worker);
    });
    const prepared = answerOf(worker, 'prepared');
    this.sendConfig(configNews(this.input.rules));
    await prepared;
  }

  async listen(): Promise<number> {
    const { worker } = this;
    if (worker === undefined) throw new ListenError('the thread of the admin API has ended; see its log lines above');
    const listening = answerOf(worker, 'listening');
    this.send({ kind: 'listen' });
    const { port } = (await listening) as Listening;
    return port;
  }

  open(): void {
    this.send({ kind: 'open' });
  }

  async close(): Promise<void> {
    this.isClosing = true;
    clearTimeout(this.restart);
    const { worker } = this;
    if (worker === undefined) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    this.send({ kind: 'close' });
    const timer = setTimeout(() => void worker.terminate(), CLOSE_MS);
    await ended;
    clearTimeout(timer);
  }

  private handle(message: FromThread): void {
    const { services, tail } = this.input;
    switch (message.kind) {
      case 'call':
        void answerCall(message, services).then((answer) => {
          this.send(answer);
        });
        break;
      case 'tail':
        this.openTails.add(message.tail);
        tail.open(message.tail, message.filter, (sample) => {
          this.send({ kind: 'sample', tail: message.tail, sample });
        });
        break;
      case 'tail_end':
        this.openTails.delete(message.tail);
        tail.close(message.tail);
        break;
      case 'counted':
        this.metrics.add(message.counts);
        break;
      case 'log':
        process.stderr.write(message.line);
        break;
      case 'prepared':
      case 'listening':
      case 'failed':
    }
  }

  private onExit(worker: Worker): void {
    if (worker !== this.worker) return;
    this.worker = undefined;
    for (const tail of this.openTails) this.input.tail.close(tail);
    this.openTails.clear();
    if (this.isClosing) return;
    this.input.log.error(event('admin_ended', { waitMs: RESTART_MS }), `the thread of the admin API ended; restart in ${RESTART_MS} ms`);
    this.restart = setTimeout(() => {
      // The end of the thread leads here again.
      this.startAgain().catch(() => void this.worker?.terminate());
    }, RESTART_MS);
  }

  private async startAgain(): Promise<void> {
    await this.start();
    await this.listen();
    this.open();
  }

  /** In parts, so that decisions are made in between. */
  private sendConfig(news: ConfigNews): void {
    for (const document of news.inForce?.set.documents ?? []) {
      for (const part of partsOf(document)) this.send({ kind: 'config_part', part });
    }
    this.send({ kind: 'config', news: withoutDocuments(news) });
  }

  private send(message: ToThread): void {
    this.worker?.postMessage(message);
  }
}

/** The next message of this kind. Rejects if the thread fails or ends before it. */
function answerOf(worker: Worker, kind: FromThread['kind']): Promise<FromThread> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: FromThread) => {
      if (message.kind === kind) resolve(message);
      if (message.kind === 'failed') reject(new ListenError(message.message));
    });
    worker.once('error', reject);
    worker.once('exit', (code) => {
      reject(new ListenError(`the thread of the admin API ended with exit code ${code}; see its log lines above`));
    });
  });
}
