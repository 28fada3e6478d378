//! The formats in which a site accepts provenance written by others.

/// A format of provenance documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Turtle.
    Turtle,
    /// N-Triples.
    NTriples,
    /// N-Quads.
    NQuads,
    /// TriG.
    TriG,
    /// JSON-LD, with its context in it.
    JsonLd,
    /// RDF/XML.
    RdfXml,
    /// PROV-JSON, the W3C member submission.
    ProvJson,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Turtle,
        Self::NTriples,
        Self::NQuads,
        Self::TriG,
        Self::JsonLd,
        Self::RdfXml,
        Self::ProvJson,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Turtle => "Turtle",
            Self::NTriples => "N-Triples",
            Self::NQuads => "N-Quads",
            Self::TriG => "TriG",
            Self::JsonLd => "JSON-LD",
            Self::RdfXml => "RDF/XML",
            Self::ProvJson => "PROV-JSON",
        }
    }

    /// Its media type. PROV-JSON has no registered one; `application/json` is accepted, too.
    #[must_use]
    pub const fn media(self) -> &'static str {
        match self {
            Self::Turtle => "text/turtle",
            Self::NTriples => "application/n-triples",
            Self::NQuads => "application/n-quads",
            Self::TriG => "application/trig",
            Self::JsonLd => "application/ld+json",
            Self::RdfXml => "application/rdf+xml",
            Self::ProvJson => "application/provenance+json",
        }
    }

    /// The format of a media type; parameters such as `charset` are ignored.
    #[must_use]
    pub fn from_media(media: &str) -> Option<Self> {
        let media = media.split(';').next()?.trim().to_ascii_lowercase();
        match media.as_str() {
            "application/json" | "application/prov+json" => Some(Self::ProvJson),
            "application/x-turtle" => Some(Self::Turtle),
            _ => Self::ALL.into_iter().find(|format| format.media() == media),
        }
    }

    /// The format of files with this extension.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "ttl" => Self::Turtle,
            "nt" => Self::NTriples,
            "nq" => Self::NQuads,
            "trig" => Self::TriG,
            "jsonld" => Self::JsonLd,
            "rdf" | "xml" | "owl" => Self::RdfXml,
            "json" | "provjson" => Self::ProvJson,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_media_type_and_by_file_name() {
        for (media, format) in [
            ("text/turtle; charset=utf-8", Some(Format::Turtle)),
            ("Application/JSON", Some(Format::ProvJson)),
            (" application/ld+json ", Some(Format::JsonLd)),
            ("text/html", None),
            ("", None),
        ] {
            assert_eq!(Format::from_media(media), format, "{media}");
        }
        for (extension, format) in [
            ("ttl", Some(Format::Turtle)),
            ("NT", Some(Format::NTriples)),
            ("nq", Some(Format::NQuads)),
            ("trig", Some(Format::TriG)),
            ("jsonld", Some(Format::JsonLd)),
            ("rdf", Some(Format::RdfXml)),
            ("json", Some(Format::ProvJson)),
            ("txt", None),
        ] {
            assert_eq!(Format::from_extension(extension), format, "{extension}");
        }
    }
}
