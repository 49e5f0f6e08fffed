"""The words that rules look for, and those that they leave alone. Data: a change is a new version of the rule. Pure."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Left out where the content of options is compared.
FILLERS = _words(
    "a an the of in on at to is are was be been and or with by for from as it its this that these those there which "
    "what who how seen shown present noted visible"
)
# An option that adds one of these says the opposite.
NEGATIONS = _words("no not without absent absence neither nor never none negative free normal")
# “Only” is none of them: “only the left lung” names a place.
ABSOLUTE_TERMS = _words(
    "always never invariably must cannot impossible exclusively solely absolutely definitely certainly undoubtedly "
    "every entirely"
)
# Where none of them is found, an option does not refer to others; “B & C” has no word between its letters.
OTHER_OPTIONS = _words("above these those option options answer answers choice choices listed given and or b c d")
# An option of three words or more that has one is a sentence.
VERBS = _words(
    "is are was were has have shows show lies suggests extends projects appears remains ends reach reaches lies lie"
)
# They turn a stem round. “Absent” does not: it asks for an absence in plain words.
NEGATIVE_WORDS = _words("not except excluding least never cannot false incorrect untrue")
# Where none of them is found, no prior is mentioned.
PRIOR_WORDS = _words(
    "prior priors previous previously compared comparison interval unchanged newly new stable worsened worsening "
    "improved improving improvement progressed progression progressive resolved resolving earlier again since last"
)
# Words that every question of the chest may hold: in the stem they name no key.
COMMON_WORDS = _words(
    "chest radiograph radiographs x-ray image images exam view views frontal lateral lung lungs finding findings "
    "patient left right bilateral upper lower middle side zone lobe no not yes both normal absent within most "
    "likely one part parts zone zones region base side sides field fields"
)
# Their first letters.
MONTHS = _words("jan feb mar apr may jun jul aug sep oct nov dec")
# Words in capitals that name no person.
ACRONYMS = _words(
    "AICD ARDS BIPAP BOOP CABG CADI COPD COVID CPAP CTPA DICOM ECMO EVAR FINDINGS GERD HFPEF IABP IMPRESSION LVAD "
    "NSIP PACS PEEP PICC PJP PORT RLL SARS SPECT TAVI TAVR TEVAR TIPS VATS BEST CORRECT EXCEPT FALSE INCORRECT "
    "LEAST LEFT MOST NEVER NONE ONLY RIGHT TRUE LATERAL UNKNOWN ONE NOT MUST CHEST VIEW VIEWS ABSENT PRESENT BOTH "
    "PORTABLE SUPINE UPRIGHT ERECT FRONTAL NORMAL ABNORMAL ACUTE CHRONIC HIGH WHICH WHAT WITHOUT ALWAYS MRSA HAART "
    "STEMI NSTEMI CTEPH NSCLC SCLC HRCT PAVM CREST ANCA"
)
# Capitalised words that name no patient: eponyms, and words of headings.
NO_NAMES = _words(
    "A An The This These Which What Left Right Bilateral Upper Lower Middle Lobe Lung Lungs Pleural Effusion Chest "
    "Heart Radiograph View Views Kerley Swan Ganz Dobhoff Hampton Westermark Chilaiditi Pancoast Ghon Bochdalek "
    "Morgagni Foley Port Cath Hickman Broviac Carpentier Edwards Starr Jude Impella Hodgkin Wegener Goodpasture "
    "Caplan Langerhans Marfan Kartagener Hamman Rich Blalock Taussig Fallot Ebstein Gram Luer Lock Cobb Schmorl "
    "Harrington Bankart Hill Sachs No Finding Normal Recorded Medical School Hospital University Clinic Infirmary "
    "General Monod Riedel Fleischner Golden Naclerio Bence Jones Down Turner Sign Signs Syndrome Disease Tube "
    "Catheter Line Lines Fibrosis Antitrypsin Sarcoma Lymphoma Tumor Tumour Pneumonia Atelectasis Consolidation "
    "Pneumothorax Edema Oedema Opacity Nodule Mass Cardiomegaly Fracture Emphysema Male Female Man Woman Impression "
    "Findings Birt Hogg Dube Churg Strauss"
)
# Of these, surnames that many people have.
SURNAMES = _words("Down Edwards Golden Hill Jones Rich Turner")
