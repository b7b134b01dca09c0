/** A real Prometheus for a test: it scrapes ports of this machine and evaluates rules, several times a second. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startChild, waitUntilReady } from '../processes/child-process';
import { httpRequest } from '../clients/http-client';
import { freePort } from './ports';

const READY_TIMEOUT_MS = 30_000;

/** Of scrapes and evaluations. */
const INTERVAL = '500ms';

export interface PrometheusOptions {
  /** The ports of the metrics of each job. */
  readonly jobs: Readonly<Record<string, readonly number[]>>;
  /** The text of a rules file. */
  readonly rules: string;
}

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  /** Its values over time, or only the one of now. */
  readonly values: readonly number[];
}

interface Answer<T> {
  readonly status: string;
  readonly error?: string;
  readonly data: T;
}

interface Result {
  readonly result: readonly {
    readonly metric: Record<string, string>;
    readonly value?: readonly [number, string];
    readonly values?: readonly (readonly [number, string])[];
  }[];
}

export interface RangeQuery {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Prometheus {
  readonly url: string;
  /** Rejects with the error of Prometheus for an invalid query. */
  query(expression: string): Promise<readonly Series[]>;
  /** One value a second. */
  queryRange(expression: string, range: RangeQuery): Promise<readonly Series[]>;
  /** The label sets of all series that match. */
  labelSets(selector: string): Promise<readonly Readonly<Record<string, string>>[]>;
  output(): string;
  stop(): Promise<void>;
}

export async function startPrometheus({ jobs, rules }: PrometheusOptions): Promise<Prometheus> {
  const port = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-prometheus-'));
  const [config, rulesFile] = [path.join(folder, 'prometheus.yaml'), path.join(folder, 'rules.yaml')];
  writeFileSync(rulesFile, rules);
  // JSON is YAML.
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: INTERVAL, scrape_timeout: INTERVAL, evaluation_interval: INTERVAL },
      rule_files: [rulesFile],
      scrape_configs: Object.entries(jobs).map(([job, ports]) => ({
        job_name: job,
        // As discovery in Kubernetes adds them.
        static_configs: [{ targets: ports.map((each) => `127.0.0.1:${each}`), labels: { namespace: 'tests', cluster: 'here' } }],
      })),
    }),
  );
  const child = startChild({
    command: process.env.WEIR_PROMETHEUS ?? 'prometheus',
    args: [
      `--config.file=${config}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
  });
  const url = `http://127.0.0.1:${port}`;
  const api = `${url}/api/v1`;
  const get = async <T>(call: string, parameters: Readonly<Record<string, string>>): Promise<T> => {
    const { body } = await httpRequest(`${api}/${call}?${new URLSearchParams(parameters).toString()}`);
    const { status, error, data } = JSON.parse(body) as Answer<T>;
    if (status !== 'success') throw new Error(`Prometheus answers ${error ?? body} to ${Object.values(parameters).join(' ')}`);
    return data;
  };
  const isReady = async () => (await httpRequest(`${url}/-/ready`)).status === 200;
  await waitUntilReady('Prometheus', child, isReady, READY_TIMEOUT_MS);
  return {
    url,
    query: async (query) => seriesOf(await get<Result>('query', { query })),
    queryRange: async (query, { fromMs, toMs }) =>
      seriesOf(await get<Result>('query_range', { query, start: String(fromMs / 1000), end: String(toMs / 1000), step: '1' })),
    labelSets: (selector) => get('series', { 'match[]': selector }),
    output: () => child.output(),
    stop: async () => {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function seriesOf({ result }: Result): readonly Series[] {
  return result.map(({ metric, value, values = value === undefined ? [] : [value] }) => ({
    metric,
    values: values.map(([, text]) => Number(text)),
  }));
}
