/** The panel of Share: the copied link, the places that it fits, other forms of the same. Loaded on demand. */
import { createResource, createSignal, For, Show } from "solid-js";
import { useApp } from "../panels/context";
import { Popover } from "../panels/Popover";
import { callError, findPass } from "../state/calls";
import type { Controller } from "../state/controller";
import { saveFile } from "../state/save";
import { commandLine, fits, markdownDiff, markdownLink, titleOf } from "./forms";
import { htmlPage, type PageStep } from "./page";
import { python, toRepeat } from "./python";
import "./share.css";

/** Characters that an issue may have. */
const MOST_IN_ISSUE = 65_536;

export default function ShareMenu(props: { anchor: HTMLElement; onClose(): void }) {
  const app = useApp();
  const [said, setSaid] = createSignal("");
  const [href] = createResource(() => app.linkNow());
  const forms = createForms(() => href() ?? "", setSaid);

  return (
    <Popover anchor={props.anchor} label="Share" wide onClose={props.onClose}>
      <div class="share">
        <input
          type="text"
          aria-label="Link"
          readOnly
          value={href() ?? ""}
          onFocus={(e) => e.currentTarget.select()}
        />
        <p class="quiet">
          <Show when={href()} fallback="Making the link…">
            {(made) => `${made().length.toLocaleString("en")} characters. ${fits(made().length)}`}
          </Show>
        </p>
        <ul aria-label="Forms">
          <For each={forms}>
            {(form, index) => (
              <li>
                <button
                  type="button"
                  data-first={index() === 0 ? "" : undefined}
                  disabled={!href()}
                  aria-describedby={`form-${index()}`}
                  onClick={() => void form.act()}
                >
                  {form.label}
                </button>
                <span class="quiet" id={`form-${index()}`}>
                  {form.about}
                </span>
              </li>
            )}
          </For>
        </ul>
        <p role="status" class="quiet">
          {said()}
        </p>
      </div>
    </Popover>
  );
}

interface Form {
  label: string;
  about: string;
  act(): Promise<void> | void;
}

/** Makes the forms in which the work on the screen is passed on. */
function createForms(href: () => string, setSaid: (words: string) => void): readonly Form[] {
  const app = useApp();
  const link = () => href().replace(/^[^#]*#/, "#");
  const script = () => app.state().good?.run.dialect === "relax";
  const extension = () => (script() ? "py" : "relay");
  const title = () => titleOf(app.state().document, app.step()?.name ?? "");

  const copy = async (what: string, text: string | null) => {
    if (text === null) {
      setSaid(`There is no ${what} to copy yet.`);
      return;
    }
    const copied = await app.copyText(text);
    const long =
      text.length > MOST_IN_ISSUE
        ? ` It has ${text.length.toLocaleString("en")} characters; an issue on GitHub ends at ${MOST_IN_ISSUE.toLocaleString("en")}.`
        : "";
    setSaid(copied ? `${what} copied.${long}` : "The browser does not let me copy.");
  };
  const save = (name: string, text: string | null, type: string) => {
    if (text === null) setSaid("There is no result to save yet.");
    else {
      saveFile(name, text, type);
      setSaid(`${name} saved.`);
    }
  };

  const savePython = async () => {
    const { good, document, catalogue } = app.state();
    if (!good || good.document !== document) {
      setSaid("There is no result to save yet.");
      return;
    }
    const isKnown = (call: string) =>
      callError(call) === "" && findPass(catalogue, call, good.run.dialect)?.available === true;
    const version = catalogue?.version ?? "";
    const result = await toRepeat(good.sent, good.run, version, isKnown, app.inertText);
    if (typeof result === "string") setSaid(result);
    else save("reproducer_tvm.py", python(good.sent, result, href()), "text/x-python");
  };

  return [
    {
      label: "Copy link",
      about: "everything on the screen",
      act: () => copy("Link", href()),
    },
    {
      label: "Copy Markdown link",
      about: "for an issue or a page",
      act: () => copy("Markdown link", markdownLink(title(), href())),
    },
    {
      label: "Copy Markdown with the diff",
      about: "what this step changed",
      act: async () => copy("diff", await diffText(app, title(), href())),
    },
    {
      label: "Copy command line",
      about: "the same with passlab",
      act: () => copy("Command", commandLine(link())),
    },
    {
      label: "Save reproducer file",
      about: "the program and its passes",
      act: async () => save(`reproducer.${extension()}`, await app.reproducer(), "text/plain"),
    },
    {
      label: "Save Python script",
      about: "asks TVM for the same result",
      act: savePython,
    },
    {
      label: "Save page",
      about: "all steps in one HTML file",
      act: async () => save("passlab.html", await pageText(app, title(), href()), "text/html"),
    },
  ];
}

/** Returns the diff of the shown step in Markdown; null if there is none. */
async function diffText(app: Controller, title: string, href: string): Promise<string | null> {
  const step = app.step();
  const diff = step && step.before !== step.after ? await app.diffOf(step) : null;
  return step && diff ? markdownDiff(title, href, diff.summary, diff) : null;
}

/** Returns a page of HTML with all steps; null while there is no result. */
async function pageText(app: Controller, title: string, href: string): Promise<string | null> {
  const { good } = app.state();
  const text = await app.reproducer();
  if (!good || text === null) return null;
  const steps: PageStep[] = [];
  for (const step of good.run.steps) {
    steps.push({ step, diff: step.before === step.after ? null : await app.diffOf(step) });
  }
  return htmlPage(title, href, text, steps, app.selected());
}
