/** The page Try: settings in, and what each algorithm makes of the arrivals. The address keeps all settings. */

import { render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Simulation } from '../../src/program/cli/simulate/run-simulation';
import { secondsText, simulationJson } from '../../src/program/cli/simulate/simulation-text';
import { Form } from './fields';
import { Picture } from './picture';
import { commandOf, readHash, writeHash, type HashSettings, type Problem, type Settings } from './settings';
import { Simulator } from './simulator';

/** After the last key, so that not every digit of a number is simulated. */
const PAUSE_MS = 150;

/** Shows the page in an element; returns what removes it. */
export function showTry(parent: Element): () => void {
  render(<Try />, parent);
  return () => {
    render(null, parent);
  };
}

function Try() {
  const [{ settings, problems }, setRead] = useState<HashSettings>(() => readHash(location.hash));
  const shown = useSimulations(settings);
  useEffect(() => {
    const onHash = () => {
      setRead(readHash(location.hash));
    };
    addEventListener('hashchange', onHash);
    return () => {
      removeEventListener('hashchange', onHash);
    };
  }, []);
  const failure = shown?.settings === settings ? shown.failure : undefined;
  const all = failure === undefined ? problems : [...problems, failure];
  return (
    <>
      <Form
        settings={settings}
        problems={all}
        onChange={(name, value) => {
          const next = { ...settings, [name]: value };
          setRead({ settings: next, problems: [] });
          history.replaceState(history.state, '', writeHash(next));
        }}
      />
      <div class="failures" role="alert">
        {all.map(({ setting, message }) => (
          <p key={message}>{setting === undefined ? message : `${setting}: ${message}`}</p>
        ))}
      </div>
      {shown?.simulations !== undefined && (
        <div class="results" data-shows={writeHash(shown.settings)}>
          <Results simulations={shown.simulations} />
          <Command command={commandOf(shown.settings)} simulations={shown.simulations} />
        </div>
      )}
    </>
  );
}

interface Shown {
  /** Those of the results or of the failure. */
  readonly settings: Settings;
  readonly simulations?: readonly Simulation[];
  readonly failure?: Problem;
}

/** The last results stay until the next ones are there; a problem removes them. */
function useSimulations(settings: Settings): Shown | undefined {
  const [shown, setShown] = useState<Shown | undefined>(undefined);
  const simulator = useRef<Simulator | undefined>(undefined);
  useEffect(() => {
    const own = new Simulator((answer, asked) => {
      setShown({ settings: asked, ...('problem' in answer ? { failure: answer.problem } : { simulations: answer.simulations }) });
    });
    simulator.current = own;
    return () => {
      own.end();
    };
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => simulator.current?.run(settings), PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [settings]);
  return shown;
}

function Results({ simulations }: { readonly simulations: readonly Simulation[] }) {
  const most = Math.max(1, ...simulations.flatMap(({ columns }) => columns.map(({ admitted, denied }) => admitted + denied)));
  return (
    <>
      <p class="legend">
        <span class="admitted">admitted</span> <span class="denied">denied</span> <span class="left">left of the limit</span>
      </p>
      <div class="pictures">
        {simulations.map((simulation) => (
          <Picture key={simulation.name} simulation={simulation} most={most} />
        ))}
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Figures">
        <table>
          <thead>
            <tr>
              {['algorithm', 'requests', 'admitted', 'denied', 'attempts', 'retries', 'last admitted'].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {simulations.map(({ name, requests, admitted, denied, attempts, retries, lastAdmittedUs }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {[requests, admitted, denied, attempts, retries].map((figure, i) => (
                  <td key={i}>{figure}</td>
                ))}
                <td>{lastAdmittedUs === undefined ? '-' : secondsText(lastAdmittedUs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** The same on the command line, and the figures as it prints them with `--format json`. */
function Command({ command, simulations }: { readonly command: string; readonly simulations: readonly Simulation[] }) {
  const json = useMemo(() => URL.createObjectURL(new Blob([simulationJson(simulations)], { type: 'application/json' })), [simulations]);
  useEffect(
    () => () => {
      URL.revokeObjectURL(json);
    },
    [json],
  );
  return (
    <>
      <p>The same on the command line, and a link to this picture:</p>
      <pre class="command" tabIndex={0}>
        <code>{command}</code>
      </pre>
      <p class="links">
        <CopyLink />{' '}
        <a href={json} download="simulation.json">
          All figures as JSON
        </a>
      </p>
    </>
  );
}

function CopyLink() {
  const [said, setSaid] = useState('');
  const copy = () => {
    navigator.clipboard.writeText(location.href).then(
      () => {
        setSaid('The link is copied.');
      },
      () => {
        setSaid('The browser did not allow the copy; the address of this page is the link.');
      },
    );
  };
  return (
    <>
      <button type="button" onClick={copy}>
        Copy the link
      </button>{' '}
      <span role="status">{said}</span>
    </>
  );
}
