/** Serves the admin API in its thread: opens what it needs, Redis among it. */

import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import { Gate } from '../../../lib/gate';
import type { AdminBackend, CurrentRules } from '../../../administration/admin/backend';
import type { TailSample } from '../../../server/observability/tail/tail-sample';
import { Authenticator } from '../../../administration/admin/auth/authenticator';
import type { AdminThreadData, FromThread } from '../../../administration/admin/link/messages';
import type { RemoteServices } from '../../../administration/admin/link/remote-services';
import { History } from '../../../administration/admin/history/history';
import { CountReader } from '../../../administration/admin/live/count-reader';
import { LiveFigures } from '../../../administration/admin/live/live-figures';
import { AdminProblem } from '../../../administration/admin/problem';
import { PrometheusUsage } from '../../../administration/admin/usage/prometheus-usage';
import { queuedBuckets, queuedControl, ReadQueue } from '../../../administration/admin/read-queue';
import { RequestCounts } from '../../../administration/admin/request-counts';
import { PublishedTexts } from '../../../state/instances/published-texts';
import { RedisInstances } from '../../../state/instances/redis-instances';
import type { RunScript } from '../../../state/store/redis/redis-store';
import { ADMIN_ROUTES } from '../../../administration/admin/routes/routes';
import { AdminServer, type TlsOptions } from '../../../administration/admin/server/admin-server';
import { ConsoleFiles } from '../../../administration/admin/server/console-files';
import { event } from '../../../server/observability/log/log-event';
import { createLogger, type Logger } from '../../../server/observability/log/logger';
import { ThrottledLog } from '../../../server/observability/log/throttled-log';
import { Health } from '../../../server/observability/health';
import { PACKAGE_ROOT } from '../../../lib/package-root';
import { formatProblems } from '../../../configuration/problems/config-error';
import { chooseAdmin, type AdminChoice } from '../../../configuration/settings/admin-choice';
import { chooseStore, type StoreChoice } from '../../../configuration/settings/redis/store-choice';
import { settingsInForce } from '../../../configuration/settings/settings-in-force';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { RulesInForce } from '../../../configuration/source/rules-in-force';
import { RedisOutbox } from '../../../state/events/redis-outbox';
import { RedisDemandBoard } from '../../../state/fair/redis-demand-board';
import { RedisRolloutCounter } from '../../../state/rollout/redis-rollout-counter';
import type { TopKeys } from '../../../state/top/top-keys';
import { listenOn } from '../../../server/transport/port/listen-error';
import { openControl, type OpenedControl } from '../deciding/open-control';
import type { RedisBuckets } from '../../../administration/admin/redis-buckets';

/** Interval between checks of the certificate files, in milliseconds. */
const CERTIFICATES_MS = 2_000;

/** The rules in force, as declared. */
export type Declared = Omit<CurrentRules, 'ruleSet'>;

export interface ServeAdminInput {
  readonly data: AdminThreadData;
  readonly settings: Settings;
  readonly log: Logger;
  /** The rules, which this thread compiles too. */
  readonly rules: RulesInForce;
  readonly declared: () => Declared;
  readonly remote: RemoteServices;
  /** Receivers of samples, by the number of the tail. */
  readonly tails: Map<number, (sample: TailSample) => void>;
  readonly send: (message: FromThread) => void;
}

export interface ServedAdmin {
  /** Binds the port. Rejects with ListenError. */
  listen(): Promise<number>;
  /** Answers from now on what the port accepts. */
  open(): void;
  close(): Promise<void>;
}

/** Rejects if a file is unusable. */
export async function serveAdmin(input: ServeAdminInput): Promise<ServedAdmin> {
  const { settings, log, send } = input;
  const choice = chooseAdmin(settings);
  if (choice === undefined) throw new Error('the thread of the admin API runs without ADMIN_PORT');
  const counts = new RequestCounts((report) => {
    send({ kind: 'counted', counts: report });
  });
  const authenticator = await openAuthenticator(choice, { counts, log });
  const opened = await openParts(input);
  const gate = new Gate();
  const backend = backendOf(input, { ...opened, choice });
  const server = openServer(input, { choice, backend, authenticator, counts, gate });
  const watching = watchCertificates(choice, server, log);
  const { host, port } = choice;
  return {
    listen: async () => {
      const place = { host, port, hostSetting: 'ADMIN_HOST', portSetting: 'ADMIN_PORT' };
      return (await listenOn(place, () => server.listen({ host, port }))).port;
    },
    open: () => {
      gate.open();
      backend.history.start();
    },
    close: async () => {
      backend.history.stop();
      clearInterval(watching);
      authenticator.close();
      await server.close();
      counts.close();
      await opened.control.close();
      await opened.close();
    },
  };
}

interface AuthenticatorParts {
  readonly counts: RequestCounts;
  readonly log: Logger;
}

function openAuthenticator(choice: AdminChoice, { counts, log }: AuthenticatorParts): Promise<Authenticator> {
  return Authenticator.open({
    ...choice,
    onFailedTry: () => {
      counts.failedTry();
    },
    nowMs: monotonicNowMs,
    onFileChange: (sentence) => {
      log.info(event('admin_file_loaded'), sentence);
    },
    onFileProblem: (sentence) => {
      log.error(event('admin_file_refused'), sentence);
    },
  });
}

/** The control data and the buckets: in Redis, or in the deciding process. */
async function openParts(input: ServeAdminInput) {
  const { data, settings, remote } = input;
  // The deciding process logs the same outages; requests that fail meanwhile get the reason.
  const quiet = createLogger({ level: 'fatal', format: settings.logFormat });
  const opened = data.isEmbedded
    ? { buckets: remote.service('buckets'), run: undefined, top: undefined, close: () => Promise.resolve() }
    : await openRedisParts({ ...input, log: quiet }, chooseStore(settings));
  const control = await openControl({
    settings,
    run: opened.run,
    ...(data.isEmbedded && { store: { ...remoteControl(remote), close: () => Promise.resolve() } }),
    health: new Health(),
    registry: new Registry(),
    log: quiet,
  });
  return { ...opened, control };
}

interface ServerParts {
  readonly choice: AdminChoice;
  readonly backend: AdminBackend;
  readonly authenticator: Authenticator;
  readonly counts: RequestCounts;
  readonly gate: Gate;
}

function openServer({ data, log }: ServeAdminInput, { choice, backend, authenticator, counts, gate }: ServerParts): AdminServer {
  const faults = new ThrottledLog({
    write: (sentence) => {
      log.error(event('admin_error'), sentence);
    },
    nowMs: monotonicNowMs,
  });
  return new AdminServer({
    ...choice,
    gate,
    tls: tlsOf(choice),
    routes: ADMIN_ROUTES,
    backend,
    authenticator,
    consoleFiles: choice.hasConsole ? readConsole(log) : undefined,
    version: data.version,
    onAnswered: (answered) => {
      counts.answered(answered);
    },
    onStreams: (open) => {
      counts.showStreams(open);
    },
    onError: (error, operation) => {
      faults.log(operation, `the admin request ${operation} failed: ${error.stack ?? error.message}`);
    },
  });
}

/** Undefined: this build has none. */
function readConsole(log: Logger): ConsoleFiles | undefined {
  const files = ConsoleFiles.read(path.join(PACKAGE_ROOT, 'dist', 'administration', 'console'));
  if (files === undefined) {
    log.info(
      event('console_missing'),
      'ADMIN_CONSOLE: this build has no console; run npm install and npm run build to have it at ADMIN_PORT',
    );
  }
  return files;
}

/** Imported on demand: the embedded store needs no Redis client. */
async function openRedisParts({ data, settings, log, remote, rules }: ServeAdminInput, choice: StoreChoice) {
  if (choice.kind !== 'redis') throw new Error('the admin API was started for Redis without it');
  const { openAdminRedis } = await import('./open-admin-redis.js');
  const opened = await openAdminRedis({
    settings,
    choice,
    log,
    rules,
    onReset: (bucketKeys) => remote.service('process').forget(bucketKeys),
  });
  return { ...opened, top: data.hasWorkers ? opened.top : undefined };
}

function remoteControl(remote: RemoteServices) {
  const { read, scan, write, audit, changesAfter, discardLost } = remote.service('control');
  return { read, scan, write, audit, changesAfter, discardLost };
}

interface BackendParts {
  readonly choice: AdminChoice;
  readonly buckets: RedisBuckets | AdminBackend['buckets'];
  readonly control: OpenedControl;
  readonly run: RunScript | undefined;
  /** Undefined: the deciding process answers. */
  readonly top: TopKeys | undefined;
}

function backendOf({ settings, rules, declared, remote, tails, send, log }: ServeAdminInput, parts: BackendParts) {
  const { choice, buckets, control, run } = parts;
  const { shadowMode: shadow, quotaMode: quota, cacheKeyPrefix: keyPrefix } = settings;
  const process = remote.service('process');
  const top = parts.top ?? remote.service('top');
  const instances =
    run === undefined ? { list: async () => [await process.facts()] } : new RedisInstances(new PublishedTexts({ run, keyPrefix }));
  const counter = new CountReader(remote.service('live'));
  const nowMs = () => Date.now();
  const reads = new ReadQueue({ nowMs: monotonicNowMs, pause });
  let lastTail = 0;
  return {
    control: queuedControl(control.service, reads),
    controlView: control.data,
    onWithoutEffect: ({ author, subject, warnings }) => {
      const messages = warnings.map(({ message }) => message).join('; ');
      log.warn(
        event('control_write_without_effect', { author, subject, codes: warnings.map(({ code }) => code) }),
        `${author} wrote ${subject}: ${messages}`,
      );
    },
    rules: {
      current: () => rules.ruleSet && { ruleSet: rules.ruleSet, ...declared() },
      problems: () => (rules.error === undefined ? [] : [...formatProblems(rules.error.problems, rules.error.omitted)]),
      modes: { shadow, quota },
      keyPrefix,
    },
    buckets: queuedBuckets(buckets, reads),
    instances,
    rollouts: run === undefined ? remote.service('rollouts') : new RedisRolloutCounter({ run, keyPrefix }),
    demand: run === undefined ? remote.service('demand') : new RedisDemandBoard({ run, keyPrefix }),
    ...(settings.eventsUrl !== undefined && {
      events: run === undefined ? remote.service('events') : new RedisOutbox({ run, keyPrefix }),
    }),
    tail: {
      open: (filter, onSample) => {
        if (tails.size >= choice.streamsMax)
          throw new AdminProblem('too-many-streams', `${choice.streamsMax} live tails are open, which is ADMIN_STREAMS_MAX; close one`);
        lastTail += 1;
        const tail = lastTail;
        tails.set(tail, onSample);
        send({ kind: 'tail', tail, filter });
        return {
          close: () => {
            tails.delete(tail);
            send({ kind: 'tail_end', tail });
          },
        };
      },
    },
    top,
    live: new LiveFigures({ counter, nowMs }),
    history: new History({ counter, top, instances, nowMs }),
    ...(choice.prometheusUrl !== undefined && { usage: new PrometheusUsage({ url: choice.prometheusUrl, nowMs }) }),
    settings: () => settingsInForce(globalThis.process.env),
    nowMs: () => Math.floor(monotonicNowUs() / 1_000),
  } satisfies AdminBackend;
}

function tlsOf({ tls }: AdminChoice): TlsOptions | undefined {
  if (tls === undefined) return undefined;
  const { cert, key, clientCa } = tls.material;
  return { cert, key, ...(clientCa !== undefined && { ca: clientCa, requestCert: true }) };
}

function watchCertificates({ tls }: AdminChoice, server: AdminServer, log: Logger): NodeJS.Timeout | undefined {
  if (tls === undefined) return undefined;
  const look = () =>
    tls.reread({
      onChange: ({ cert, key, clientCa }) => {
        server.renew({ cert, key, ...(clientCa !== undefined && { ca: clientCa }) });
        log.info(event('admin_file_loaded'), 'ADMIN_TLS_CERT: changed certificates of the admin API are in use');
      },
      onProblem: (sentence) => {
        log.error(
          event('admin_file_refused'),
          `changed certificates of the admin API are refused, and the old ones stay in use: ${sentence}`,
        );
      },
    });
  return setInterval(() => void look(), CERTIFICATES_MS).unref();
}
