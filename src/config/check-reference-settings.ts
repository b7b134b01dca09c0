/** Looks for the reference's variables in the environment, so that none is ignored silently. */

import { REFERENCE_SETTINGS, type ReferenceSetting } from './reference-settings';
import type { Environment } from './settings';
import { SettingsError } from './settings-error';
import { isOfMogrifier } from './statsd-choice';

/**
 * One sentence for each variable that is set and has no effect.
 *
 * @throws SettingsError with every variable without which Weir would do something else than asked
 */
export function checkReferenceSettings(env: Environment): readonly string[] {
  const set = referenceSettingsIn(env);
  const problems = set.filter(({ refused }) => refused);
  if (problems.length > 0) throw new SettingsError(problems.map(({ name, instead }) => ({ name, message: instead })));
  return set.map(({ name, instead }) => `${name} has no effect here. ${instead}`);
}

/** The reference's settings that this environment sets, but for values that ask for what Weir does anyway; of a family, each by its full name. */
export function referenceSettingsIn(env: Environment): readonly ReferenceSetting[] {
  return REFERENCE_SETTINGS.flatMap((setting) => namesIn(env, setting).map((name) => ({ ...setting, name })));
}

/** The variables of that name, or of that family of names, that ask for something. */
function namesIn(env: Environment, { name, fine }: ReferenceSetting): string[] {
  const isFamily = name.endsWith('*');
  const start = name.slice(0, -1);
  const names = isFamily ? Object.keys(env).filter((each) => each.startsWith(start)).sort() : [name];
  return names.filter((each) => {
    const value = env[each];
    return value !== undefined && value !== '' && !fine.includes(value.toLowerCase()) && !isOfMogrifier(each, env);
  });
}
