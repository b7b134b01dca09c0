/** Loads a command of the admin API from its source; jest does not resolve the imports of the table, which name built files. */
import type { ControlCommand } from '../../../src/cli/control/control-command';

export async function loadControlCommand(name: string): Promise<ControlCommand> {
  const loaded = (await import(`../../../src/cli/control/${name}`)) as Readonly<Record<string, ControlCommand>>;
  return loaded[name]!;
}
