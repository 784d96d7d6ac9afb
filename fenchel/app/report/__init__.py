"""The report: a table goes in, a decision with its proof comes out.

    from fenchel.app.report.build import Options, Report, build

    report = build(source, Options(target="diagnosis"))    # source: a table_reader.Source
    report.verdict()               # lines for a terminal: model, score with interval, certificate
    report.write(folder)           # report.html, model.fen, report.json: each whole or not at all
    report.html(), report.json()   # the two texts, without writing anything

`Options` (frozen) holds target=None, kind=None, test_share=0.25, seed=0, cost_fp=1, cost_fn=1,
alpha=0.05, delta=0.05, level=0.95, drop=(), show_rows=False, models=None (names of the models to
compare), n_jobs=None (as many as pay), command="" (for the reproduction block) and progress=None,
called with one short line before each part. `Report` (frozen) holds numbers (every number, ready
for JSON), figures (Vega-Lite specs), model, encoder, task; model and encoder are None where the
table has no target. `write` takes a folder, which it makes, or the path of the HTML file, beside
which the other two get its name; it returns the paths.

`build` raises `BadUsage` for options that the table cannot take and `BadData` for tables that
cannot be studied.

What differs from run to run (date, seconds, hash of the model file) is on one line of each text,
called "clock"; everything else is the same for the same input.
"""
