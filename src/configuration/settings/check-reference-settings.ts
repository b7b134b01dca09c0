/** Looks for the reference's variables in the environment, so that none is ignored silently. */

import { REFERENCE_SETTINGS, type ReferenceSetting } from './table/reference-settings';
import type { Environment } from './table/settings';
import { SettingsError } from './table/settings-error';
import { isOfMogrifier } from './statsd-choice';

/**
 * One sentence for each variable that is set but has no effect.
 *
 * @throws SettingsError with every variable that Weir must not ignore, because it would do something other than asked
 */
export function checkReferenceSettings(env: Environment): readonly string[] {
  const set = referenceSettingsIn(env);
  const problems = set.filter(({ refused }) => refused);
  if (problems.length > 0) throw new SettingsError(problems.map(({ name, instead }) => ({ name, message: instead })));
  return set.map(({ name, instead }) => `${name} has no effect here. ${instead}`);
}

/** The reference's settings in this environment, except those whose value asks for what Weir does anyway. A setting of a family has its full name. */
export function referenceSettingsIn(env: Environment): readonly ReferenceSetting[] {
  return REFERENCE_SETTINGS.flatMap((setting) => namesIn(env, setting).map((name) => ({ ...setting, name })));
}

/** The set variables that a row covers: one name, or a family of names. */
function namesIn(env: Environment, { name, fine }: ReferenceSetting): string[] {
  const isFamily = name.endsWith('*');
  const start = name.slice(0, -1);
  const names = isFamily
    ? Object.keys(env)
        .filter((each) => each.startsWith(start))
        .sort()
    : [name];
  return names.filter((each) => {
    const value = env[each];
    return value !== undefined && value !== '' && !fine.includes(value.toLowerCase()) && !isOfMogrifier(each, env);
  });
}
