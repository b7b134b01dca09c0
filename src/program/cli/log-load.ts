/** Logs what became of a configuration: its problems, or its warnings. */

import { event } from '../../server/observability/log/log-event';
import type { Logger } from '../../server/observability/log/logger';
import { countProblems, listProblems, type ConfigProblem } from '../../configuration/problems/config-error';
import type { Domain } from '../../domain/rule/rule-set';
import type { RulesInForce } from '../../configuration/source/rules-in-force';

/** Logs the result of the last load. */
export function logLoad(
  { ruleSet, error }: RulesInForce,
  { log, isControlled }: { readonly log: Logger; readonly isControlled: boolean },
): void {
  if (error !== undefined) {
    const rest =
      ruleSet === undefined
        ? 'there is no earlier one, so calls get UNAVAILABLE'
        : `generation ${ruleSet.generation}, the last good one, stays in force`;
    const problems = error.problems.length + error.omitted;
    log.error(
      event('config_refused', { problems, generation: ruleSet?.generation ?? 0 }),
      `configuration rejected with ${countProblems(error)}: ${rest}`,
    );
    for (const { sentence, problem } of listProblems(error)) log.error(event('config_problem', problem && fieldsOf(problem)), sentence);
    return;
  }
  for (const warning of ruleSet?.warnings ?? []) log.warn(event('config_warning'), warning);
  if (!isControlled) logWithoutControl([...(ruleSet?.domains.values() ?? [])], log);
}

/** Rules that need control data have no effect without them, which is easily forgotten. */
function logWithoutControl(domains: readonly Pick<Domain, 'hasTenants' | 'hasPenalties' | 'stages'>[], log: Logger): void {
  const without = (what: string) => {
    log.warn(event('control_off'), `${what}, because control data are off; set CONTROL_DATA=true`);
  };
  if (domains.some(({ hasTenants }) => hasTenants === true)) without('all tenants have their default plan');
  const isGuarded = ({ stages }: Pick<Domain, 'stages'>) =>
    [...(stages?.values() ?? [])].some(({ stage }) => stage.values.stopIf !== undefined);
  if (domains.some(isGuarded)) without('guards take no rollout back');
  if (domains.some(({ hasPenalties }) => hasPenalties === true)) without('penalties block nobody');
}

function fieldsOf({ message: error, ...place }: ConfigProblem): Readonly<Record<string, unknown>> {
  return { ...place, error };
}
