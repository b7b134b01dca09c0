/** The route of the serving processes: what each runs, what is degraded, and how it follows the control data. */

import { Type } from '@sinclair/typebox';
import type { AdminBackend } from '../backend';
import { CONTROL_STATES, type ControlFacts, type InstanceFacts } from '../../../state/instances/instance-facts';
import { route } from '../route/route';
import { object } from '../route/schemas';
import { snakeKeys } from '../route/snake-keys';

export const instances = route({
  method: 'GET',
  path: '/v1/instances',
  id: 'listInstances',
  tag: 'system',
  role: 'viewer',
  summary: 'Lists the serving processes that share the store (each worker is one): version, configuration, and what is degraded.',
  reply: object({
    items: Type.Array(
      object({
        id: Type.String(),
        host: Type.String(),
        pid: Type.Integer(),
        version: Type.String(),
        started_at: Type.String({ format: 'date-time' }),
        reported_at: Type.String({ format: 'date-time' }),
        generation: Type.Integer({
          minimum: 0,
          description: 'Generation of the configuration in force, which counts from the start of the instance; 0: none yet.',
        }),
        domains: Type.Integer({ minimum: 0 }),
        config_refused: Type.Boolean({ description: 'Whether the newest configuration was rejected.' }),
        degraded: Type.Array(Type.String(), { description: 'The lines of its health check that report something as degraded.' }),
        load: Type.Optional(
          object(
            {
              event_loop_utilization: Type.Number({
                minimum: 0,
                maximum: 1,
                description: 'Part of the time in which its event loop worked; at 1 it cannot do more.',
              }),
              decisions_per_s: Type.Number({ minimum: 0, description: 'Requests decided in a second, over gRPC and HTTP.' }),
            },
            'How busy it was in the 5 seconds before its report. Absent: an older version.',
          ),
        ),
        engines: Type.Optional(
          Type.Array(
            object({
              store: Type.String({ description: '`redis` or `redis_per_second`.' }),
              engine: Type.String({ description: 'As in `weir_redis_engine_info`.' }),
              version: Type.String({ description: 'Empty: the server does not show it.' }),
            }),
            {
              description:
                'The engines of its Redis servers. Absent: an older version. Empty: the store is in memory, or no server was there yet.',
            },
          ),
        ),
        store_error: Type.Optional(
          object(
            {
              store: Type.String({ description: '`redis` or `redis_per_second`.' }),
              reason: Type.String({ description: 'As in `weir_store_errors_total`. Calls that the breaker kept back do not count.' }),
              at: Type.String({ format: 'date-time' }),
            },
            'The last error of Redis that it met. Absent: none since its start.',
          ),
        ),
        control: Type.Optional(
          object(
            {
              state: Type.Union(
                CONTROL_STATES.map((state) => Type.Literal(state)),
                {
                  description:
                    '`behind`: the store does not answer; `lost`: the store lost records that the process keeps; `starting`: nothing was read yet.',
                },
              ),
              lag_seconds: Type.Number({ minimum: 0, description: 'Since the last read of the change log that the store answered.' }),
              version: Type.Integer({ minimum: 0, description: 'The last change that it has; 0: there was none.' }),
              lost_records: Type.Integer({ minimum: 0 }),
              entries_behind: Type.Optional(
                Type.Integer({
                  minimum: 0,
                  description:
                    'Changes that were made when it reported, and that it did not have; about a thousand at most. Absent: the change log does not reach back to its version, or many processes are behind.',
                }),
              ),
            },
            'How it follows the control data. Absent: CONTROL_DATA is off in it.',
          ),
        ),
      }),
    ),
    degraded: Type.Array(object({ reason: Type.String(), instances: Type.Integer({ minimum: 1 }) }), {
      description: 'The degradations that instances report, with the number of instances; empty if all is well.',
    }),
  }),
  problems: ['unavailable'],
  handle: async (_, backend) => {
    const items = await backend.instances.list();
    const behind = await entriesBehind(items, backend);
    return {
      body: {
        items: items.map(({ startedAtMs, reportedAtMs, storeError, control, ...rest }) => ({
          ...snakeKeys({ ...rest, startedAt: new Date(startedAtMs).toISOString(), reportedAt: new Date(reportedAtMs).toISOString() }),
          ...(storeError && {
            store_error: { store: storeError.store, reason: storeError.reason, at: new Date(storeError.atMs).toISOString() },
          }),
          ...(control && { control: showControl(control, behind.get(rest.id)) }),
        })),
        degraded: reasonsOf(items),
      },
    };
  },
});

function showControl({ state, lagMs, version, lost }: ControlFacts, behind: number | undefined) {
  const entries = behind === undefined ? undefined : { entries_behind: behind };
  return { state, lag_seconds: lagMs / 1_000, version, lost_records: lost, ...entries };
}

/** Most processes whose distance is counted for one answer; each takes a read of the change log. */
const BEHIND_MAX = 20;

/** A process that has not read this change yet is not behind: it reads every tenth of a second. */
const READING_US = 1_000_000;

/** By process. A version is the time of its write, so changes after its report do not count. */
async function entriesBehind(items: readonly InstanceFacts[], { control }: AdminBackend): Promise<ReadonlyMap<string, number | undefined>> {
  let counted = 0;
  const pairs = items.map(async ({ id, control: facts, reportedAtMs }): Promise<[string, number | undefined]> => {
    if (facts === undefined) return [id, undefined];
    const upTo = reportedAtMs * 1_000 - READING_US;
    if (facts.version >= upTo) return [id, 0];
    counted += 1;
    return [id, counted > BEHIND_MAX ? undefined : await control.changesBetween(facts.version, upTo)];
  });
  return new Map(await Promise.all(pairs));
}

function reasonsOf(items: readonly InstanceFacts[]) {
  const counts = new Map<string, number>();
  for (const { degraded } of items) for (const reason of degraded) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return Array.from(counts, ([reason, instances]) => ({ reason, instances }));
}
